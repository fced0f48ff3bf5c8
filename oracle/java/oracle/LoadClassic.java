package oracle;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * A .log file as the classic coordinator (kafka.coordinator.group.GroupMetadataManager) loads it: path and end offsets to as many
 * JSON objects, each of a load of its own over the batches that begin before the end.
 *
 * A load that fails leaves nothing behind and does not say where: `error` then tells the batch with which it begins to fail, by
 * its base offset, and the state is that of a load which ends before it. A longer log may load again: some of what Kafka refuses,
 * it refuses only where the log ends.
 */
final class LoadClassic implements Question {
    private final Release release;
    private final Segment segment;
    private final Object partition;
    private final Object replicas;
    private final Object log;

    private ByteBuffer loaded;
    private long endOffset;

    LoadClassic(Release release) throws Exception {
        this.release = release;
        segment = new Segment(release);
        partition = release.find("org.apache.kafka.common.TopicPartition")
            .getConstructor(String.class, int.class).newInstance("__consumer_offsets", 0);
        log = StandIn.of(release, this::log, "kafka.log.UnifiedLog", "kafka.log.Log");
        replicas = StandIn.of(release, this::replicas, "kafka.server.ReplicaManager");
    }

    @Override
    public byte[][] ask(byte[][] given) throws Exception {
        List<byte[]> states = new ArrayList<>();
        ByteBuffer whole = Segment.read(given[0]);
        List<Object> batches = new ArrayList<>();
        for (Object batch : segment.batches(whole)) batches.add(batch);
        for (long end : Load.ends(given)) states.add(Serde.bytes(state(whole, batches, end)));
        return states.toArray(new byte[0][]);
    }

    private String state(ByteBuffer whole, List<Object> batches, long end) throws Exception {
        int count = 0;
        while (count < batches.size() && (long) segment.of(batches.get(count), "baseOffset") < end) count++;
        try {
            return told("null", load(whole, batches.subList(0, count)));
        } catch (Exception thrown) {
            return failed(whole, batches, count, thrown);
        }
    }

    /** Found by halves: a batch with which a load fails that succeeds without it. */
    private String failed(ByteBuffer whole, List<Object> batches, int failing, Throwable thrown) throws Exception {
        int loads = 0;
        int fails = failing;
        String state = load(whole, List.of());
        while (fails - loads > 1) {
            int middle = (loads + fails) / 2;
            try {
                state = load(whole, batches.subList(0, middle));
                loads = middle;
            } catch (Exception refused) {
                fails = middle;
                thrown = refused;
            }
        }
        return told(Load.error((long) segment.of(batches.get(loads), "baseOffset"), thrown), state);
    }

    private static String told(String error, String groups) {
        return "{\"error\":" + error + ",\"groups\":" + groups + "}";
    }

    private String load(ByteBuffer whole, List<Object> batches) throws Exception {
        int size = 0;
        endOffset = 0;
        for (Object batch : batches) {
            size += segment.size(batch);
            endOffset = (long) segment.of(batch, "nextOffset");
        }
        loaded = whole.duplicate().limit(size);
        Object groups = manager();
        Class<?> function = release.find("scala.Function1");
        Object ignore = Proxy.newProxyInstance(release.loader, new Class<?>[] {function}, (proxy, method, with) -> null);
        loading(groups).invoke(groups, partition, ignore);
        return State.json(State.call(groups, "currentGroups"));
    }

    /** The part of the load that throws; what calls it would log that and go on. */
    private static Method loading(Object groups) throws Exception {
        for (String name : List.of("doLoadGroupsAndOffsets", "loadGroupsAndOffsets")) {
            for (Method method : groups.getClass().getDeclaredMethods()) {
                if (!method.getName().equals(name) || method.getParameterCount() != 2) continue;
                method.setAccessible(true);
                return method;
            }
        }
        throw new NoSuchMethodException("loadGroupsAndOffsets");
    }

    private Object manager() throws Exception {
        Constructor<?> make = release.find("kafka.coordinator.group.GroupMetadataManager").getConstructors()[0];
        Class<?>[] types = make.getParameterTypes();
        Object[] with = new Object[types.length];
        for (int i = 0; i < types.length; i++) {
            with[i] = switch (types[i].getSimpleName()) {
                case "int" -> 1;
                case "OffsetConfig" -> config(types[i]);
                case "ReplicaManager" -> replicas;
                case "KafkaZkClient" -> StandIn.of(release, (proxy, method, given) -> none(), types[i].getName());
                case "Time" -> StandIn.clock(release);
                case "Metrics" -> types[i].getConstructor().newInstance();
                default -> null;
            };
        }
        return make.newInstance(with);
    }

    /** Kafka's defaults; none of them counts for a load but the buffer's size. */
    private static Object config(Class<?> type) throws Exception {
        Constructor<?> make = type.getConstructors()[0];
        for (Constructor<?> each : type.getConstructors()) if (each.getParameterCount() == 10) make = each;
        Object[] with = {4096, 5242880, 604800000L, 600000L, 50, 104857600, (short) 3, null, 5000, (short) -1};
        Class<?> compression = make.getParameterTypes()[7];
        with[7] = compression.isEnum() ? compression.getField("NONE").get(null) : none(compression);
        return make.newInstance(with);
    }

    private static Object none(Class<?> codec) throws Exception {
        Class<?> type = Class.forName("kafka.message.NoCompressionCodec$", true, codec.getClassLoader());
        return type.getField("MODULE$").get(null);
    }

    private Object replicas(Object on, Method method, Object[] given) throws Exception {
        return switch (method.getName()) {
            case "getLog" -> some(log);
            case "getLogEndOffset" -> some(endOffset);
            default -> null;
        };
    }

    private Object log(Object on, Method method, Object[] given) throws Exception {
        return switch (method.getName()) {
            case "logStartOffset" -> 0L;
            case "read" -> fetched(method.getReturnType());
            default -> null;
        };
    }

    private Object fetched(Class<?> type) throws Exception {
        for (Constructor<?> make : type.getConstructors()) {
            Object[] with = new Object[make.getParameterCount()];
            Class<?> position = make.getParameterTypes()[0];
            with[0] = position.getConstructor(long.class, long.class, int.class).newInstance(0L, 0L, 0);
            with[1] = segment.records(loaded);
            if (with.length > 2) with[2] = false;
            for (int i = 3; i < with.length; i++) with[i] = make.getParameterTypes()[i] == java.util.Optional.class ? java.util.Optional.empty() : none();
            return make.newInstance(with);
        }
        throw new NoSuchMethodException(type.getName());
    }

    private Object some(Object held) throws Exception {
        return release.find("scala.Some").getConstructor(Object.class).newInstance(held);
    }

    private Object none() throws Exception {
        return release.find("scala.None$").getField("MODULE$").get(null);
    }
}
