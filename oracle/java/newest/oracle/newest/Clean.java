package oracle.newest;

import java.io.File;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import oracle.Oracle;
import oracle.Question;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * One run of the log cleaner over a partition's directory, which it changes: path and the time of the run (ms) to exception, message,
 * the log's bytes after it. No producer is forgotten; tombstones are kept for a day from now on.
 */
public final class Clean implements Question {
    private static final int FOREVER = Integer.MAX_VALUE;

    @Override
    public byte[][] ask(byte[][] given) throws Exception {
        byte[][] answer = new byte[3][];
        try {
            answer[2] = cleaned(new File(text(given[0])), Long.parseLong(text(given[1])));
        } catch (Exception refused) {
            answer = Oracle.failure(refused, 3);
        }
        return answer;
    }

    private static byte[] cleaned(File directory, long now) throws Exception {
        Properties settings = new Properties();
        settings.put("cleanup.policy", "compact");
        try (UnifiedLog log = UnifiedLog.create(
            directory, new LogConfig(settings), 0, 0, new KafkaScheduler(1), new BrokerTopicStats(false), Time.SYSTEM, FOREVER,
            new ProducerStateManagerConfig(FOREVER, false), FOREVER, new LogDirFailureChannel(1), false, Optional.empty())) {
            log.updateHighWatermark(log.logEndOffset());
            long uncleanable = Math.min(log.lastStableOffset(), log.activeSegment().baseOffset());
            Throttler throttler = new Throttler(Double.MAX_VALUE, 300, "cleaner", "entries", Time.SYSTEM);
            Cleaner cleaner = new Cleaner(0, new SkimpyOffsetMap(1 << 22), 1 << 20, 1 << 20, 0.9, throttler, Time.SYSTEM, partition -> { });
            LogToClean cleanable = new LogToClean(log, 0, uncleanable, false);
            if (cleanable.firstUncleanableOffset() > 0) cleaner.doClean(cleanable, now);
            return bytes(log);
        }
    }

    private static byte[] bytes(UnifiedLog log) throws Exception {
        List<ByteBuffer> parts = new ArrayList<>();
        for (LogSegment segment : log.logSegments()) {
            ByteBuffer part = ByteBuffer.allocate(segment.size());
            segment.log().readInto(part, 0);
            parts.add(part);
        }
        ByteBuffer all = ByteBuffer.allocate(parts.stream().mapToInt(ByteBuffer::limit).sum());
        parts.forEach(all::put);
        return all.array();
    }

    private static String text(byte[] field) {
        return new String(field, StandardCharsets.UTF_8);
    }
}
