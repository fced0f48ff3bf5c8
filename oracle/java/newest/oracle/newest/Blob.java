package oracle.newest;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.List;
import oracle.Oracle;
import oracle.Question;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.AbstractStickyAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.ConsumerProtocolAssignment;
import org.apache.kafka.common.message.ConsumerProtocolAssignmentJsonConverter;
import org.apache.kafka.common.message.ConsumerProtocolSubscription;
import org.apache.kafka.common.message.ConsumerProtocolSubscriptionJsonConverter;
import org.apache.kafka.connect.runtime.distributed.ConnectProtocol;
import org.apache.kafka.connect.runtime.distributed.ExtendedAssignment;
import org.apache.kafka.connect.runtime.distributed.ExtendedWorkerState;
import org.apache.kafka.connect.runtime.distributed.IncrementalCooperativeConnectProtocol;
import org.apache.kafka.connect.util.ConnectorTaskId;
import org.apache.kafka.streams.processor.internals.assignment.AssignmentInfo;
import org.apache.kafka.streams.processor.internals.assignment.SubscriptionInfo;

/** A blob inside a member, as the client that owns it reads it: bytes to exception, message, JSON or Kafka's own toString. */
public final class Blob implements Question {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Reader reader;

    private interface Reader {
        String read(ByteBuffer blob) throws Exception;
    }

    public Blob(String kind) {
        reader = switch (kind) {
            case "subscription" -> Blob::subscription;
            case "topics" -> Blob::topics;
            case "assignment" -> Blob::assignment;
            case "sticky" -> blob -> memberData(new StickyAssignor(), blob);
            case "cooperative-sticky" -> blob -> memberData(new CooperativeStickyAssignor(), blob);
            case "streams-subscription" -> Blob::streamsSubscription;
            case "streams-assignment" -> blob -> AssignmentInfo.decode(blob).toString();
            case "connect-metadata" -> blob -> version(blob) == 0 ? eager(ConnectProtocol.deserializeMetadata(blob)).toString()
                : extended(IncrementalCooperativeConnectProtocol.deserializeMetadata(blob)).toString();
            case "connect-assignment" -> blob -> version(blob) == 0 ? eager(ConnectProtocol.deserializeAssignment(blob)).toString()
                : extended(IncrementalCooperativeConnectProtocol.deserializeAssignment(blob)).toString();
            default -> throw new IllegalArgumentException("no such blob: " + kind);
        };
    }

    @Override
    public byte[][] ask(byte[][] given) {
        try {
            return new byte[][] {null, null, reader.read(ByteBuffer.wrap(given[0])).getBytes(StandardCharsets.UTF_8)};
        } catch (Exception refused) {
            return Oracle.failure(refused, 3);
        }
    }

    private static short version(ByteBuffer blob) {
        return blob.duplicate().getShort();
    }

    private static String subscription(ByteBuffer blob) {
        short version = (short) Math.min(version(blob), ConsumerProtocolSubscription.HIGHEST_SUPPORTED_VERSION);
        return ConsumerProtocolSubscriptionJsonConverter.write(ConsumerProtocol.deserializeConsumerProtocolSubscription(blob), version).toString();
    }

    private static String topics(ByteBuffer blob) {
        ConsumerProtocol.deserializeVersion(blob);
        ArrayNode told = JSON.createArrayNode();
        ConsumerProtocol.deserializeConsumerProtocolSubscription(blob, (short) 0).topics().forEach(told::add);
        return told.toString();
    }

    private static String assignment(ByteBuffer blob) {
        short version = (short) Math.min(version(blob), ConsumerProtocolAssignment.HIGHEST_SUPPORTED_VERSION);
        return ConsumerProtocolAssignmentJsonConverter.write(ConsumerProtocol.deserializeConsumerProtocolAssignment(blob), version).toString();
    }

    private static String memberData(AbstractStickyAssignor assignor, ByteBuffer userData) throws Exception {
        Method memberData = assignor.getClass().getDeclaredMethod("memberData", Subscription.class);
        memberData.setAccessible(true);
        AbstractStickyAssignor.MemberData data;
        try {
            data = (AbstractStickyAssignor.MemberData) memberData.invoke(assignor, new Subscription(List.of(), userData));
        } catch (InvocationTargetException refused) {
            throw (Exception) refused.getCause();
        }
        ObjectNode told = JSON.createObjectNode();
        ArrayNode partitions = told.putArray("partitions");
        for (TopicPartition each : data.partitions) partitions.addObject().put("topic", each.topic()).put("partition", each.partition());
        told.put("generation", data.generation.orElse(null));
        return told.toString();
    }

    private static String streamsSubscription(ByteBuffer blob) throws Exception {
        Field data = SubscriptionInfo.class.getDeclaredField("data");
        data.setAccessible(true);
        return data.get(SubscriptionInfo.decode(blob)).toString();
    }

    private static ObjectNode eager(ConnectProtocol.WorkerState state) {
        return JSON.createObjectNode().put("url", state.url()).put("configOffset", state.offset());
    }

    private static ObjectNode eager(ConnectProtocol.Assignment assignment) {
        ObjectNode told = JSON.createObjectNode();
        told.put("error", assignment.error()).put("leader", assignment.leader()).put("leaderUrl", assignment.leaderUrl());
        told.put("configOffset", assignment.offset());
        names(told.putArray("connectors"), assignment.connectors());
        tasks(told.putArray("tasks"), assignment.tasks());
        return told;
    }

    private static ObjectNode extended(ExtendedWorkerState state) {
        ObjectNode told = eager(state);
        told.set("allocation", state.assignment() == null ? null : extended(state.assignment()));
        return told;
    }

    private static ObjectNode extended(ExtendedAssignment assignment) {
        ObjectNode told = eager(assignment);
        told.put("version", assignment.version());
        names(told.putArray("revokedConnectors"), assignment.revokedConnectors());
        tasks(told.putArray("revokedTasks"), assignment.revokedTasks());
        return told.put("delay", assignment.delay());
    }

    private static void names(ArrayNode into, Collection<String> names) {
        names.forEach(into::add);
    }

    private static void tasks(ArrayNode into, Collection<ConnectorTaskId> tasks) {
        tasks.forEach(each -> into.addObject().put("connector", each.connector()).put("task", each.task()));
    }
}
