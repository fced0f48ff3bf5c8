package oracle;

import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Given: topics, as `name TAB count` lines; then of each member its id, its group.instance.id (null: none) and its subscription as
 * the group's leader reads it in JoinGroup. Returned: what was thrown, then of each member its id and `topic TAB partition` lines.
 */
final class Assign implements Question {
    private static final String CONSUMER = "org.apache.kafka.clients.consumer.";

    private final Class<?> type;
    private final Method assign;
    private final Method subscription;

    Assign(Release release, String assignor) throws Exception {
        type = release.find(CONSUMER + assignor);
        assign = type.getMethod("assign", Map.class, Map.class);
        subscription = release.find(CONSUMER + "internals.ConsumerProtocol").getMethod("deserializeSubscription", ByteBuffer.class);
    }

    @Override
    public byte[][] ask(byte[][] given) {
        try {
            Map<String, Object> subscriptions = new HashMap<>();
            for (int i = 1; i < given.length; i += 3) subscriptions.put(text(given[i]), subscription(given[i + 1], given[i + 2]));
            // An assignor remembers generations: each case has a new one.
            Object made = type.getConstructor().newInstance();
            return told((Map<?, ?>) assign.invoke(made, topics(given[0]), subscriptions));
        } catch (Exception thrown) {
            return Oracle.failure(thrown, 2);
        }
    }

    private Object subscription(byte[] instance, byte[] blob) throws Exception {
        Object read = subscription.invoke(null, ByteBuffer.wrap(blob));
        if (instance != null) {
            read.getClass().getMethod("setGroupInstanceId", Optional.class).invoke(read, Optional.of(text(instance)));
        }
        return read;
    }

    static Map<String, Integer> topics(byte[] lines) {
        Map<String, Integer> counts = new HashMap<>();
        text(lines).lines().map(line -> line.split("\t")).forEach(line -> counts.put(line[0], Integer.valueOf(line[1])));
        return counts;
    }

    private static byte[][] told(Map<?, ?> assigned) throws Exception {
        Map<String, StringBuilder> lines = new TreeMap<>();
        for (Map.Entry<?, ?> member : assigned.entrySet()) {
            StringBuilder of = lines.computeIfAbsent((String) member.getKey(), id -> new StringBuilder());
            for (Object at : (Collection<?>) member.getValue()) {
                of.append(State.call(at, "topic")).append('\t').append(State.call(at, "partition")).append('\n');
            }
        }
        return fields(lines);
    }

    static byte[][] fields(Map<String, StringBuilder> lines) {
        List<byte[]> fields = new java.util.ArrayList<>();
        fields.add(null);
        fields.add(null);
        lines.forEach((member, partitions) -> {
            fields.add(Serde.bytes(member));
            fields.add(Serde.bytes(partitions.toString()));
        });
        return fields.toArray(new byte[0][]);
    }

    static String text(byte[] field) {
        return new String(field, StandardCharsets.UTF_8);
    }
}
