package oracle;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;

/** A GroupCoordinatorShard of a release that has one (3.9 and later), empty when made, and what may be done to it. */
final class Shard {
    private static final String GROUP = "org.apache.kafka.coordinator.group.";
    private static final String COMMON = "org.apache.kafka.coordinator.common.runtime.";

    private final Object shard;
    private final Object serde;
    private final Method deserialize;
    private final Method replay;
    private final Method endTransaction;
    private final Class<?> results;

    Shard(Release release) throws Exception {
        shard = made(release);
        Class<?> record = release.find(COMMON + "CoordinatorRecord", GROUP + "CoordinatorRecord");
        Class<?> type = release.find(GROUP + "GroupCoordinatorRecordSerde", GROUP + "CoordinatorRecordSerde");
        serde = type.getConstructor().newInstance();
        deserialize = type.getMethod("deserialize", ByteBuffer.class, ByteBuffer.class);
        results = release.find("org.apache.kafka.common.requests.TransactionResult");
        replay = shard.getClass().getMethod("replay", long.class, long.class, short.class, record);
        endTransaction = shard.getClass().getMethod("replayEndTransactionMarker", long.class, short.class, results);
    }

    /** As CoordinatorLoaderImpl does: a record of an unknown type is passed over, whatever else is thrown ends the load. */
    void replay(long offset, long producerId, short producerEpoch, ByteBuffer key, ByteBuffer value) throws Exception {
        Object record;
        try {
            record = deserialize.invoke(serde, key, value);
        } catch (Exception refused) {
            if (Release.cause(refused).getClass().getSimpleName().equals("UnknownRecordTypeException")) return;
            throw refused;
        }
        replay.invoke(shard, offset, producerId, producerEpoch, record);
    }

    /** A marker, "COMMIT" or "ABORT"; other control records change nothing. */
    void end(long producerId, short producerEpoch, String marker) throws Exception {
        for (Object result : results.getEnumConstants()) {
            if (result.toString().equals(marker)) endTransaction.invoke(shard, producerId, producerEpoch, result);
        }
    }

    /** JSON of everything that was loaded: committed offsets, pending ones by producer id, groups, and (4.1+) share groups' topics. */
    String state() throws Exception {
        Object groups = State.field(shard, "groupMetadataManager");
        Object offsets = State.field(shard, "offsetMetadataManager");
        List<String> parts = new ArrayList<>();
        parts.add("\"offsets\":" + State.json(State.field(offsets, "offsets")));
        parts.add("\"pending\":" + State.json(State.field(offsets, "pendingTransactionalOffsets")));
        parts.add("\"groups\":" + State.json(State.field(groups, "groups")));
        try {
            parts.add("\"share\":" + State.json(State.field(groups, "shareGroupStatePartitionMetadata")));
        } catch (NoSuchFieldException before41) {
            parts.add("\"share\":{}");
        }
        return String.join(",", parts);
    }

    private static Object made(Release release) throws Exception {
        InvocationHandler silent = (proxy, method, given) -> null;
        Object builder = builder(release, defaults(release));
        Object registry = release.find("org.apache.kafka.timeline.SnapshotRegistry")
            .getConstructor(release.find("org.apache.kafka.common.utils.LogContext")).newInstance(context(release));
        set(builder, "withLogContext", context(release));
        set(builder, "withSnapshotRegistry", registry);
        set(builder, "withTime", StandIn.clock(release));
        set(builder, "withTimer", StandIn.of(release, silent, COMMON + "CoordinatorTimer", GROUP + "runtime.CoordinatorTimer"));
        set(builder, "withExecutor", StandIn.of(release, silent, COMMON + "CoordinatorExecutor", "java.lang.Runnable"));
        set(builder, "withCoordinatorMetrics", release.find(GROUP + "metrics.GroupCoordinatorMetrics").getConstructor().newInstance());
        set(builder, "withTopicPartition", release.find("org.apache.kafka.common.TopicPartition")
            .getConstructor(String.class, int.class).newInstance("__consumer_offsets", 0));
        set(builder, "withAuthorizer", java.util.Optional.empty());
        set(builder, "withAuthorizerPlugin", java.util.Optional.empty());
        return State.call(builder, "build");
    }

    private static Object context(Release release) throws Exception {
        return release.find("org.apache.kafka.common.utils.LogContext").getConstructor().newInstance();
    }

    /** The builder's setters differ by release: one that is not there is not needed. */
    private static void set(Object builder, String name, Object value) throws Exception {
        for (Method method : builder.getClass().getMethods()) {
            if (method.getName().equals(name)) method.invoke(builder, value);
        }
    }

    private static Object builder(Release release, Object configured) throws Exception {
        Constructor<?> make = release.find(GROUP + "GroupCoordinatorShard$Builder").getConstructors()[0];
        Object config = configure(make.getParameterTypes()[0], configured);
        if (make.getParameterCount() == 1) return make.newInstance(config);
        Constructor<?> managing = make.getParameterTypes()[1].getConstructors()[0];
        Object[] with = new Object[managing.getParameterCount()];
        with[0] = Map.of();
        if (with.length > 1) with[1] = config;
        if (with.length > 2) with[2] = configure(managing.getParameterTypes()[2], configured);
        return make.newInstance(config, managing.newInstance(with));
    }

    private static Object configure(Class<?> type, Object configured) throws Exception {
        for (Constructor<?> make : type.getConstructors()) {
            if (make.getParameterCount() == 1) return make.newInstance(configured);
        }
        throw new NoSuchMethodException(type.getName());
    }

    /** A configuration of every default that the coordinator's classes declare. */
    private static Object defaults(Release release) throws Exception {
        Class<?> definition = release.find("org.apache.kafka.common.config.ConfigDef");
        String group = GROUP + "GroupCoordinatorConfig";
        List<Object> declared = new ArrayList<>();
        for (Class<?> type : new LinkedHashSet<>(List.of(release.find(group), release.find(GROUP + "modern.share.ShareGroupConfig", group)))) {
            for (Field field : type.getFields()) {
                if (Modifier.isStatic(field.getModifiers()) && field.getType() == definition) declared.add(field.get(null));
            }
        }
        Object merged = release.find("org.apache.kafka.common.utils.Utils").getMethod("mergeConfigs", List.class).invoke(null, declared);
        return release.find("org.apache.kafka.common.config.AbstractConfig")
            .getConstructor(definition, Map.class).newInstance(merged, Map.of());
    }
}
