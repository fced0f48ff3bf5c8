package oracle.newest;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.ByteBuffer;
import java.util.Base64;
import oracle.Oracle;
import oracle.Question;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.DefaultRecordBatch;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.ByteBufferOutputStream;

/** One batch (magic 2) or one message set (magic 0, 1) from its description in JSON: to exception, message, bytes. */
public final class Build implements Question {
    private static final ObjectMapper JSON = new ObjectMapper();

    @Override
    public byte[][] ask(byte[][] given) throws Exception {
        JsonNode wanted = JSON.readTree(given[0]);
        try {
            return new byte[][] {null, null, wanted.get("records").isEmpty() && wanted.get("marker").isNull() ? empty(wanted) : built(wanted)};
        } catch (Exception refused) {
            return Oracle.failure(refused, 3);
        }
    }

    private static byte[] built(JsonNode wanted) {
        MemoryRecordsBuilder builder = new MemoryRecordsBuilder(
            new ByteBufferOutputStream(1 << 12), (byte) wanted.get("magic").asInt(), compression(wanted), timestampType(wanted),
            wanted.get("baseOffset").asLong(), wanted.get("logAppendTime").asLong(), wanted.get("producerId").asLong(),
            (short) wanted.get("producerEpoch").asInt(), wanted.get("baseSequence").asInt(), wanted.get("isTransactional").asBoolean(),
            !wanted.get("marker").isNull(), wanted.get("partitionLeaderEpoch").asInt(), Integer.MAX_VALUE,
            wanted.get("deleteHorizonMs").asLong(RecordBatch.NO_TIMESTAMP));
        JsonNode marker = wanted.get("marker");
        if (!marker.isNull()) {
            ControlRecordType type = ControlRecordType.valueOf(marker.get("type").asText());
            builder.appendEndTxnMarker(marker.get("timestamp").asLong(), new EndTransactionMarker(type, marker.get("coordinatorEpoch").asInt()));
        }
        for (JsonNode record : wanted.get("records")) {
            builder.appendWithOffset(
                record.get("offset").asLong(), record.get("timestamp").asLong(), bytes(record.get("key")), bytes(record.get("value")), headers(record));
        }
        if (!wanted.get("lastOffset").isNull()) builder.overrideLastOffset(wanted.get("lastOffset").asLong());
        return bytes(builder.build());
    }

    /** What compaction leaves of a batch whose records are gone (magic 2): the header keeps the producer's sequence. */
    private static byte[] empty(JsonNode wanted) {
        ByteBuffer buffer = ByteBuffer.allocate(DefaultRecordBatch.RECORD_BATCH_OVERHEAD);
        DefaultRecordBatch.writeEmptyHeader(
            buffer, (byte) wanted.get("magic").asInt(), wanted.get("producerId").asLong(), (short) wanted.get("producerEpoch").asInt(),
            wanted.get("baseSequence").asInt(), wanted.get("baseOffset").asLong(), wanted.get("lastOffset").asLong(),
            wanted.get("partitionLeaderEpoch").asInt(), timestampType(wanted), wanted.get("logAppendTime").asLong(),
            wanted.get("isTransactional").asBoolean(), false);
        buffer.flip();
        return bytes(MemoryRecords.readableRecords(buffer));
    }

    private static Compression compression(JsonNode wanted) {
        return Compression.of(CompressionType.forName(wanted.get("codec").asText())).build();
    }

    private static TimestampType timestampType(JsonNode wanted) {
        return TimestampType.forName(wanted.get("timestampType").asText());
    }

    private static Header[] headers(JsonNode record) {
        JsonNode wanted = record.get("headers");
        Header[] headers = new Header[wanted.size()];
        for (int i = 0; i < headers.length; i++) headers[i] = new RecordHeader(wanted.get(i).get(0).asText(), bytes(wanted.get(i).get(1)));
        return headers;
    }

    private static byte[] bytes(JsonNode base64) {
        return base64.isNull() ? null : Base64.getDecoder().decode(base64.asText());
    }

    private static byte[] bytes(MemoryRecords records) {
        ByteBuffer buffer = records.buffer().duplicate();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return bytes;
    }
}
