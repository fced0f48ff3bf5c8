package oracle;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/**
 * A coordinator record, as the broker's loader reads it: key, value (null: tombstone) to exception, message, key and value as
 * Kafka's generated converters write JSON, and both as the serde writes them again. Up to 3.7 there are no converters: the
 * data is then a JSON string, the message's toString.
 */
final class Serde implements Question {
    private final Object serde;
    private final Method deserialize;
    private final Method serializeKey;
    private final Method serializeValue;
    private final Method keyOf;
    private final Method valueOf;
    private final Map<Class<?>, Method> converters = new HashMap<>();
    private final boolean hasConverters;
    private final Object mapper;
    private final Method writeAsString;

    Serde(Release release) throws Exception {
        String group = "org.apache.kafka.coordinator.group.";
        Class<?> type = release.find(group + "GroupCoordinatorRecordSerde", group + "CoordinatorRecordSerde", group + "RecordSerde");
        serde = type.getConstructor().newInstance();
        Class<?> record = release.find(
            "org.apache.kafka.coordinator.common.runtime.CoordinatorRecord", group + "CoordinatorRecord", group + "Record");
        deserialize = type.getMethod("deserialize", ByteBuffer.class, ByteBuffer.class);
        serializeKey = type.getMethod("serializeKey", record);
        serializeValue = type.getMethod("serializeValue", record);
        keyOf = record.getMethod("key");
        valueOf = record.getMethod("value");
        hasConverters = release.loader.getResource("org/apache/kafka/coordinator/group/generated/GroupMetadataValueJsonConverter.class") != null;
        mapper = release.find("com.fasterxml.jackson.databind.ObjectMapper").getConstructor().newInstance();
        writeAsString = mapper.getClass().getMethod("writeValueAsString", Object.class);
    }

    @Override
    public byte[][] ask(byte[][] given) throws Exception {
        byte[][] answer = new byte[6][];
        try {
            Object record = deserialize.invoke(serde, buffer(given[0]), buffer(given[1]));
            answer[2] = keyJson(given[0], keyOf.invoke(record));
            answer[3] = valueJson(valueOf.invoke(record));
            answer[4] = (byte[]) serializeKey.invoke(serde, record);
            answer[5] = (byte[]) serializeValue.invoke(serde, record);
        } catch (InvocationTargetException refused) {
            System.arraycopy(Oracle.failure(refused, 2), 0, answer, 0, 2);
        }
        return answer;
    }

    private static ByteBuffer buffer(byte[] field) {
        return field == null ? null : ByteBuffer.wrap(field);
    }

    /** Up to 4.0 the key's version is the record type; from 4.1 on every key has version 0, and the type stands before it. */
    private byte[] keyJson(byte[] raw, Object key) throws Exception {
        short type = ByteBuffer.wrap(raw).getShort();
        Versioned versioned = Versioned.of(key, (short) 0);
        return bytes("{\"type\":" + type + ",\"data\":" + json(versioned) + "}");
    }

    private byte[] valueJson(Object value) throws Exception {
        if (value == null) return null;
        Versioned versioned = Versioned.of(value, (short) 0);
        return bytes("{\"version\":" + versioned.version + ",\"data\":" + json(versioned) + "}");
    }

    private Object json(Versioned versioned) throws Exception {
        if (!hasConverters) return writeAsString.invoke(mapper, versioned.message.toString());
        Class<?> type = versioned.message.getClass();
        Method write = converters.get(type);
        if (write == null) {
            write = type.getClassLoader().loadClass(type.getName() + "JsonConverter").getMethod("write", type, short.class);
            converters.put(type, write);
        }
        return write.invoke(null, versioned.message, versioned.version);
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** An ApiMessageAndVersion taken apart; a bare message has the version that is given. */
    record Versioned(Object message, short version) {
        static Versioned of(Object held, short otherwise) throws Exception {
            if (!held.getClass().getSimpleName().equals("ApiMessageAndVersion")) return new Versioned(held, otherwise);
            Object message = held.getClass().getMethod("message").invoke(held);
            return new Versioned(message, (short) held.getClass().getMethod("version").invoke(held));
        }
    }
}
