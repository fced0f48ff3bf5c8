package oracle;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Properties;

/**
 * What the console consumer's formatter prints for one record: log partition, offset, timestamp, key, value to exception,
 * message, printed text, and what went to stderr.
 */
final class Formatter implements Question {
    private final Release release;
    private final Object formatter;
    private final Method writeTo;
    private final Constructor<?> record;
    private final byte[] spokenAtStart;

    Formatter(Release release, String name) throws Exception {
        this.release = release;
        Class<?> type = release.find(name);
        Constructor<?> constructor = type.getDeclaredConstructor();
        constructor.setAccessible(true);
        formatter = constructor.newInstance();
        Class<?> consumed = release.find("org.apache.kafka.clients.consumer.ConsumerRecord");
        writeTo = type.getMethod("writeTo", consumed, PrintStream.class);
        writeTo.setAccessible(true);
        record = constructor(consumed);
        spokenAtStart = Speech.listen(() -> configure(type)).err();
    }

    private void configure(Class<?> type) throws Exception {
        for (Method method : type.getMethods()) {
            if (method.getName().equals("configure")) method.invoke(formatter, Collections.emptyMap());
            if (method.getName().equals("init") && method.getParameterCount() == 1) method.invoke(formatter, new Properties());
        }
    }

    /** The constructor that takes a timestamp and the fewest things besides: its shape has changed with the releases. */
    private static Constructor<?> constructor(Class<?> consumed) {
        return Arrays.stream(consumed.getConstructors())
            .filter(each -> each.getParameterCount() >= 10)
            .min((a, b) -> a.getParameterCount() - b.getParameterCount())
            .orElseThrow();
    }

    @Override
    public byte[][] ask(byte[][] given) throws Exception {
        Object made = record.newInstance(arguments(given));
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        PrintStream stream = new PrintStream(printed, false, StandardCharsets.UTF_8);
        Speech.Heard heard = Speech.listen(() -> writeTo.invoke(formatter, made, stream));
        stream.flush();
        byte[][] answer = heard.thrown() == null ? new byte[4][] : Oracle.failure(heard.thrown(), 4);
        answer[2] = printed.toByteArray();
        answer[3] = joined(spokenAtStart, heard.err());
        return answer;
    }

    private Object[] arguments(byte[][] given) throws Exception {
        long offset = Long.parseLong(text(given[1]));
        long timestamp = Long.parseLong(text(given[2]));
        List<Object> arguments = new ArrayList<>(List.of("__consumer_offsets", Integer.parseInt(text(given[0])), offset, timestamp));
        Class<?>[] types = record.getParameterTypes();
        arguments.add(types[4].getField("CREATE_TIME").get(null));
        if (types[5] == long.class) arguments.add(-1L);
        else if (types[5] == Long.class) arguments.add(null);
        arguments.add(given[3] == null ? -1 : given[3].length);
        arguments.add(given[4] == null ? -1 : given[4].length);
        arguments.add(given[3]);
        arguments.add(given[4]);
        if (types.length > arguments.size()) {
            arguments.add(release.find("org.apache.kafka.common.header.internals.RecordHeaders").getConstructor().newInstance());
        }
        while (types.length > arguments.size()) arguments.add(Optional.empty());
        return arguments.toArray();
    }

    private static byte[] joined(byte[] first, byte[] second) {
        byte[] all = Arrays.copyOf(first, first.length + second.length);
        System.arraycopy(second, 0, all, first.length, second.length);
        return all;
    }

    private static String text(byte[] field) {
        return new String(field, StandardCharsets.UTF_8);
    }
}
