package oracle.newest;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import oracle.Oracle;
import oracle.Question;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.tools.OffsetsUtils;

/**
 * What kafka-consumer-groups --reset-offsets --from-file makes of a file's text: exception, message, then group, topic,
 * partition and offset of each line in turn.
 */
public final class ResetPlan implements Question {
    @Override
    @SuppressWarnings("unchecked")
    public byte[][] ask(byte[][] given) throws Exception {
        var options = new OffsetsUtils.OffsetsUtilsOptions(List.of("one", "another"), List.of(), 0L);
        Method parse = OffsetsUtils.class.getDeclaredMethod("parseResetPlan", String.class);
        parse.setAccessible(true);
        Map<String, Map<TopicPartition, OffsetAndMetadata>> plan;
        try {
            plan = (Map<String, Map<TopicPartition, OffsetAndMetadata>>)
                    parse.invoke(new OffsetsUtils(null, null, options), new String(given[0], StandardCharsets.UTF_8));
        } catch (InvocationTargetException refused) {
            return Oracle.failure((Exception) refused.getCause(), 2);
        }
        var told = new ArrayList<byte[]>(Arrays.asList(null, null));
        plan.forEach((group, offsets) -> offsets.forEach((at, committed) -> {
            for (Object field : new Object[] {group, at.topic(), at.partition(), committed.offset()})
                told.add(String.valueOf(field).getBytes(StandardCharsets.UTF_8));
        }));
        return told.toArray(byte[][]::new);
    }
}
