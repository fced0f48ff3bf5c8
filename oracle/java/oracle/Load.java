package oracle;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

/**
 * A .log file as the new coordinator loads it: path and end offsets (ascending) to as many JSON objects, the state after the
 * records before each end. What ends a load ends it for all ends beyond: `error` then stands beside the state until there.
 */
final class Load implements Question {
    private final Release release;
    private final Segment segment;

    private Shard shard;
    private String error;
    private long[] ends;
    private List<byte[]> states;

    Load(Release release) throws Exception {
        this.release = release;
        segment = new Segment(release);
    }

    @Override
    public byte[][] ask(byte[][] given) throws Exception {
        shard = new Shard(release);
        error = "null";
        states = new ArrayList<>();
        ends = ends(given);
        for (Object batch : segment.batches(Segment.read(given[0]))) {
            if (!error.equals("null")) break;
            replay(batch);
        }
        while (states.size() < ends.length) tell();
        return states.toArray(new byte[0][]);
    }

    static long[] ends(byte[][] given) {
        long[] ends = new long[given.length - 1];
        for (int i = 0; i < ends.length; i++) ends[i] = Long.parseLong(new String(given[i + 1], StandardCharsets.UTF_8));
        return ends;
    }

    private void replay(Object batch) throws Exception {
        long producerId = (long) segment.of(batch, "producerId");
        short epoch = (short) segment.of(batch, "producerEpoch");
        boolean control = (boolean) segment.of(batch, "isControlBatch");
        Iterator<?> records = segment.recordsOf(batch);
        while (records.hasNext()) {
            Object record = records.next();
            long offset = segment.offset(record);
            while (states.size() < ends.length && ends[states.size()] <= offset) tell();
            try {
                if (control) shard.end(producerId, epoch, segment.control(record));
                else shard.replay(offset, producerId, epoch, segment.key(record), segment.value(record));
            } catch (Exception thrown) {
                error = error(offset, thrown);
                return;
            }
        }
    }

    static String error(long offset, Throwable thrown) throws Exception {
        Throwable cause = Release.cause(thrown);
        String type = State.json(cause.getClass().getName());
        return "{\"offset\":" + offset + ",\"type\":" + type + ",\"message\":" + State.json(cause.getMessage()) + "}";
    }

    private void tell() throws Exception {
        states.add(Serde.bytes("{\"error\":" + error + "," + shard.state() + "}"));
    }
}
