package oracle;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;

/**
 * A coordinator record from Kafka's JSON (4.1 and later): type, key JSON, value version, value JSON (both null: tombstone) to
 * exception, message, key bytes, value bytes.
 */
final class Encode implements Question {
    private final Object serde;
    private final Method serializeKey;
    private final Method serializeValue;
    private final Method readKey;
    private final Method readValue;
    private final Method record;
    private final java.lang.reflect.Constructor<?> versioned;
    private final Object mapper;
    private final Method readTree;

    Encode(Release release) throws Exception {
        Class<?> type = release.find("org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde");
        Class<?> recordType = release.find("org.apache.kafka.coordinator.common.runtime.CoordinatorRecord");
        Class<?> message = release.find("org.apache.kafka.common.protocol.ApiMessage");
        Class<?> versionedType = release.find("org.apache.kafka.server.common.ApiMessageAndVersion");
        Class<?> converters = release.find("org.apache.kafka.coordinator.group.generated.CoordinatorRecordJsonConverters");
        Class<?> node = release.find("com.fasterxml.jackson.databind.JsonNode");
        serde = type.getConstructor().newInstance();
        serializeKey = type.getMethod("serializeKey", recordType);
        serializeValue = type.getMethod("serializeValue", recordType);
        readKey = converters.getMethod("readRecordKeyFromJson", node, short.class);
        readValue = converters.getMethod("readRecordValueFromJson", node, short.class, short.class);
        record = recordType.getMethod("record", message, versionedType);
        versioned = versionedType.getConstructor(message, short.class);
        mapper = release.find("com.fasterxml.jackson.databind.ObjectMapper").getConstructor().newInstance();
        readTree = mapper.getClass().getMethod("readTree", byte[].class);
    }

    @Override
    public byte[][] ask(byte[][] given) throws Exception {
        try {
            short type = Short.parseShort(text(given[0]));
            Object key = readKey.invoke(null, readTree.invoke(mapper, (Object) given[1]), type);
            Object made = record.invoke(null, key, given[3] == null ? null : value(given, type));
            return new byte[][] {
                null, null, (byte[]) serializeKey.invoke(serde, made), (byte[]) serializeValue.invoke(serde, made),
            };
        } catch (InvocationTargetException refused) {
            return Oracle.failure(refused, 4);
        }
    }

    private Object value(byte[][] given, short type) throws Exception {
        short version = Short.parseShort(text(given[2]));
        Object message = readValue.invoke(null, readTree.invoke(mapper, (Object) given[3]), type, version);
        return versioned.newInstance(message, version);
    }

    private static String text(byte[] field) {
        return new String(field, StandardCharsets.UTF_8);
    }
}
