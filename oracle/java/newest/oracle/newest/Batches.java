package oracle.newest;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.OptionalLong;
import oracle.Oracle;
import oracle.Question;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;

/** A .log file, as FileRecords reads it: path to exception, message, JSON lines of the batches read until then. */
public final class Batches implements Question {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final HexFormat HEX = HexFormat.of();

    @Override
    public byte[][] ask(byte[][] given) throws Exception {
        byte[][] answer = new byte[3][];
        StringBuilder lines = new StringBuilder();
        File file = new File(new String(given[0], StandardCharsets.UTF_8));
        try (FileRecords records = FileRecords.open(file, false)) {
            Iterator<? extends RecordBatch> batches = records.batches().iterator();
            while (batches.hasNext()) lines.append(JSON.writeValueAsString(facts(batches.next()))).append('\n');
        } catch (Exception refused) {
            answer = Oracle.failure(refused, 3);
        }
        answer[2] = lines.toString().getBytes(StandardCharsets.UTF_8);
        return answer;
    }

    private static ObjectNode facts(RecordBatch batch) {
        ObjectNode facts = JSON.createObjectNode();
        facts.put("baseOffset", batch.baseOffset());
        facts.put("lastOffset", batch.lastOffset());
        facts.put("magic", batch.magic());
        facts.put("compression", batch.compressionType().name);
        facts.put("timestampType", batch.timestampType().name);
        facts.put("maxTimestamp", batch.maxTimestamp());
        facts.put("crc", batch.checksum());
        facts.put("isValid", batch.isValid());
        facts.put("sizeInBytes", batch.sizeInBytes());
        if (batch.magic() >= RecordBatch.MAGIC_VALUE_V2) {
            facts.put("count", batch.countOrNull());
            facts.put("producerId", batch.producerId());
            facts.put("producerEpoch", batch.producerEpoch());
            facts.put("baseSequence", batch.baseSequence());
            facts.put("lastSequence", batch.lastSequence());
            facts.put("partitionLeaderEpoch", batch.partitionLeaderEpoch());
            facts.put("isTransactional", batch.isTransactional());
            facts.put("isControl", batch.isControlBatch());
            OptionalLong horizon = batch.deleteHorizonMs();
            facts.put("deleteHorizonMs", horizon.isPresent() ? (Long) horizon.getAsLong() : null);
        }
        ArrayNode records = facts.putArray("records");
        try {
            for (Record record : batch) records.add(facts(record));
        } catch (Exception refused) {
            facts.put("error", refused.getClass().getName());
            facts.put("message", refused.getMessage());
        }
        return facts;
    }

    private static ObjectNode facts(Record record) {
        ObjectNode facts = JSON.createObjectNode();
        facts.put("offset", record.offset());
        facts.put("timestamp", record.timestamp());
        facts.put("keySize", record.keySize());
        facts.put("valueSize", record.valueSize());
        facts.put("sequence", record.sequence());
        facts.put("key_hex", hex(record.hasKey() ? record.key() : null));
        facts.put("value_hex", hex(record.hasValue() ? record.value() : null));
        ArrayNode headers = facts.putArray("headers");
        for (Header header : record.headers()) {
            byte[] value = header.value();
            headers.addObject().put("key", header.key()).put("value_hex", value == null ? null : HEX.formatHex(value));
        }
        return facts;
    }

    private static String hex(ByteBuffer held) {
        if (held == null) return null;
        byte[] bytes = new byte[held.remaining()];
        held.duplicate().get(bytes);
        return HEX.formatHex(bytes);
    }
}
