package oracle.newest;

import java.io.File;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.HashSet;
import java.util.Set;
import oracle.Question;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.coordinator.group.generated.LegacyOffsetCommitKey;
import org.apache.kafka.coordinator.group.generated.OffsetCommitKey;
import org.apache.kafka.coordinator.group.generated.OffsetCommitValue;

/**
 * Reads a segment once as a coordinator loads it: every batch's checksum, every record through the coordinator's serde.
 *
 * Path, "file" (FileRecords) or "memory" (MemoryRecords, bytes read beforehand), "sum" or "pace", to records, commits, sum of
 * committed offsets, groups that committed. "pace" leaves the groups out (0): the objects are made, counted and dropped.
 */
public final class Pace implements Question {
    private final GroupCoordinatorRecordSerde serde = new GroupCoordinatorRecordSerde();
    private String held;
    private ByteBuffer content;

    private long records;
    private long commits;
    private long sum;
    private Set<String> groups;

    @Override
    public byte[][] ask(byte[][] given) throws Exception {
        String path = text(given[0]);
        boolean inMemory = text(given[1]).equals("memory");
        records = commits = sum = 0;
        groups = text(given[2]).equals("sum") ? new HashSet<>() : null;
        if (inMemory) hold(path);
        if (inMemory) {
            read(MemoryRecords.readableRecords(content.duplicate()).batches());
        } else {
            try (FileRecords file = FileRecords.open(new File(path), false)) {
                read(file.batches());
            }
        }
        return new byte[][] {number(records), number(commits), number(sum), number(groups == null ? 0 : groups.size())};
    }

    private void hold(String path) throws Exception {
        if (path.equals(held)) return;
        content = null;
        content = ByteBuffer.wrap(Files.readAllBytes(new File(path).toPath()));
        held = path;
    }

    private void read(Iterable<? extends RecordBatch> batches) {
        for (RecordBatch batch : batches) {
            batch.ensureValid();
            for (Record record : batch) {
                records++;
                if (!batch.isControlBatch()) count(serde.deserialize(record.key(), record.value()));
            }
        }
    }

    private void count(CoordinatorRecord record) {
        if (record.value() != null && record.value().message() instanceof OffsetCommitValue commit) {
            commits++;
            sum += commit.offset();
        }
        if (groups == null) return;
        if (record.key() instanceof OffsetCommitKey key) groups.add(key.group());
        if (record.key() instanceof LegacyOffsetCommitKey key) groups.add(key.group());
    }

    private static String text(byte[] field) {
        return new String(field, StandardCharsets.UTF_8);
    }

    private static byte[] number(long number) {
        return Long.toString(number).getBytes(StandardCharsets.UTF_8);
    }
}
