package oracle;

import java.io.File;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.Iterator;

/** A .log file as a release's MemoryRecords reads it, batch by batch, through methods found once. */
final class Segment {
    private static final String OLD = "org.apache.kafka.common.record.";
    private static final String NEW = "org.apache.kafka.common.record.internal.";

    private final Method readable;
    private final Class<?> memoryRecords;
    private final Class<?> batch;
    private final Class<?> record;
    private final Class<?> controlType;

    Segment(Release release) throws Exception {
        memoryRecords = release.find(NEW + "MemoryRecords", OLD + "MemoryRecords");
        readable = memoryRecords.getMethod("readableRecords", ByteBuffer.class);
        batch = release.find(NEW + "RecordBatch", OLD + "RecordBatch");
        record = release.find(NEW + "Record", OLD + "Record");
        controlType = release.find(NEW + "ControlRecordType", OLD + "ControlRecordType");
    }

    static ByteBuffer read(byte[] path) throws Exception {
        return ByteBuffer.wrap(Files.readAllBytes(new File(new String(path, java.nio.charset.StandardCharsets.UTF_8)).toPath()));
    }

    /** The records of these bytes, as a fetch from the log would answer. */
    Object records(ByteBuffer bytes) throws Exception {
        return readable.invoke(null, bytes.duplicate());
    }

    Iterable<?> batches(ByteBuffer bytes) throws Exception {
        return (Iterable<?>) memoryRecords.getMethod("batches").invoke(records(bytes));
    }

    /** A fact of a batch by its method's name, as in `producerId`. */
    Object of(Object one, String name) throws Exception {
        return batch.getMethod(name).invoke(one);
    }

    int size(Object one) throws Exception {
        return (int) batch.getMethod("sizeInBytes").invoke(one);
    }

    Iterator<?> recordsOf(Object one) throws Exception {
        return ((Iterable<?>) one).iterator();
    }

    long offset(Object one) throws Exception {
        return (long) record.getMethod("offset").invoke(one);
    }

    ByteBuffer key(Object one) throws Exception {
        return (ByteBuffer) record.getMethod("key").invoke(one);
    }

    ByteBuffer value(Object one) throws Exception {
        return (ByteBuffer) record.getMethod("value").invoke(one);
    }

    /** COMMIT, ABORT, or another control record's name. */
    String control(Object one) throws Exception {
        return controlType.getMethod("parse", ByteBuffer.class).invoke(null, key(one)).toString();
    }
}
