package oracle;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * An assignor of KIP-848, of a broker's side. Given: topics, as `name TAB count` lines; then of each member its id, its instance
 * id (null: none), the topics it asks for, a line each, and its target so far as `topic TAB partition` lines. Returned as Assign does.
 */
final class AssignTarget implements Question {
    private static final String GROUP = "org.apache.kafka.coordinator.group.";
    private static final String[] HOMES = {GROUP + "api.assignor.", GROUP + "assignor."};

    private final Release release;
    private final Class<?> type;
    private final Class<?> describer;
    private final Constructor<?> uuid;

    AssignTarget(Release release, String assignor) throws Exception {
        this.release = release;
        type = release.find(GROUP + "assignor." + assignor);
        describer = find("SubscribedTopicDescriber");
        uuid = release.find("org.apache.kafka.common.Uuid").getConstructor(long.class, long.class);
    }

    @Override
    public byte[][] ask(byte[][] given) {
        try {
            Topics topics = new Topics(Assign.topics(given[0]));
            Map<String, Member> members = new LinkedHashMap<>();
            for (int i = 1; i < given.length; i += 4) members.put(Assign.text(given[i]), topics.member(given, i + 1));
            Object assignor = type.getConstructor().newInstance();
            for (Method method : type.getMethods()) {
                if (method.getName().equals("assign") && method.getParameterTypes()[1] == describer) {
                    return told(topics, method.invoke(assignor, spec(topics, members, method.getParameterTypes()[0]), topics.describer()));
                }
            }
            throw new NoSuchMethodException("assign");
        } catch (Exception thrown) {
            return Oracle.failure(thrown, 2);
        }
    }

    private Class<?> find(String name) throws ClassNotFoundException {
        return release.find(HOMES[0] + name, HOMES[1] + name);
    }

    /** 3.7 has a class of its own for all of it, later releases ask an interface. */
    private Object spec(Topics topics, Map<String, Member> members, Class<?> type) throws Exception {
        if (type.isInterface()) return group(members, type);
        Map<String, Object> specs = new HashMap<>();
        Constructor<?> make = find("AssignmentMemberSpec").getConstructors()[0];
        for (Map.Entry<String, Member> member : members.entrySet()) {
            Member of = member.getValue();
            specs.put(member.getKey(), make.newInstance(of.instance, Optional.empty(), of.topics, of.target));
        }
        return type.getConstructor(Map.class).newInstance(specs);
    }

    private Object group(Map<String, Member> members, Class<?> type) throws Exception {
        Class<?> kinds = find("SubscriptionType");
        boolean same = members.values().stream().map(member -> member.topics).distinct().count() <= 1;
        Object kind = kinds.getMethod("valueOf", String.class).invoke(null, same ? "HOMOGENEOUS" : "HETEROGENEOUS");
        // As the coordinator's own map of members: its order is that of the ids' hashes.
        Map<String, Member> known = new HashMap<>(members);
        return stand(type, (proxy, method, given) -> switch (method.getName()) {
            case "memberIds" -> Collections.unmodifiableSet(known.keySet());
            case "subscriptionType" -> kind;
            case "isPartitionAssigned" -> known.values().stream()
                .anyMatch(member -> member.target.getOrDefault(given[0], Set.of()).contains(given[1]));
            case "memberSubscription" -> known.get((String) given[0]).asked(this);
            case "memberAssignment" -> known.get((String) given[0]).held(this);
            default -> throw new UnsupportedOperationException(method.getName());
        });
    }

    private Object stand(Class<?> type, InvocationHandler answers) {
        return Proxy.newProxyInstance(release.loader, new Class<?>[] {type}, answers);
    }

    private static byte[][] told(Topics topics, Object assignment) throws Exception {
        Map<String, StringBuilder> lines = new TreeMap<>();
        Map<?, ?> members = (Map<?, ?>) State.call(assignment, "members");
        for (Map.Entry<?, ?> member : members.entrySet()) {
            StringBuilder of = lines.computeIfAbsent((String) member.getKey(), id -> new StringBuilder());
            Map<?, ?> partitions = (Map<?, ?>) partitions(member.getValue());
            partitions.forEach((id, numbers) -> {
                for (Object number : (Set<?>) numbers) of.append(topics.names.get(id)).append('\t').append(number).append('\n');
            });
        }
        return Assign.fields(lines);
    }

    private static Object partitions(Object assignment) throws Exception {
        try {
            return State.call(assignment, "partitions");
        } catch (NoSuchMethodException before38) {
            return State.call(assignment, "targetPartitions");
        }
    }

    private record Member(Optional<String> instance, Set<Object> topics, Map<Object, Set<Integer>> target) {
        Object asked(AssignTarget of) throws Exception {
            return of.stand(of.find("MemberSubscription"), (proxy, method, given) -> switch (method.getName()) {
                case "instanceId" -> instance;
                case "rackId" -> Optional.empty();
                case "subscribedTopicIds" -> topics;
                default -> throw new UnsupportedOperationException(method.getName());
            });
        }

        Object held(AssignTarget of) throws Exception {
            return of.stand(of.find("MemberAssignment"), (proxy, method, given) -> target);
        }
    }

    private final class Topics {
        final Map<Object, String> names = new HashMap<>();
        private final Map<String, Object> ids = new HashMap<>();
        private final Map<Object, Integer> counts = new HashMap<>();

        Topics(Map<String, Integer> topics) throws Exception {
            for (Map.Entry<String, Integer> topic : topics.entrySet()) {
                Object id = uuid.newInstance((long) topic.getKey().hashCode() * 0x9E3779B97F4A7C15L, topic.getKey().length() + 1L);
                names.put(id, topic.getKey());
                ids.put(topic.getKey(), id);
                counts.put(id, topic.getValue());
            }
        }

        Member member(byte[][] given, int at) {
            Set<Object> asked = new HashSet<>();
            Assign.text(given[at + 1]).lines().map(ids::get).filter(java.util.Objects::nonNull).forEach(asked::add);
            Map<Object, Set<Integer>> target = new HashMap<>();
            Assign.text(given[at + 2]).lines().map(line -> line.split("\t")).forEach(line ->
                target.computeIfAbsent(ids.get(line[0]), id -> new HashSet<>()).add(Integer.valueOf(line[1])));
            Optional<String> instance = given[at] == null ? Optional.empty() : Optional.of(Assign.text(given[at]));
            return new Member(instance, asked, Collections.unmodifiableMap(target));
        }

        Object describer() {
            return stand(describer, (proxy, method, given) -> switch (method.getName()) {
                case "numPartitions" -> counts.getOrDefault(given[0], -1);
                case "racksForPartition" -> Set.of();
                default -> throw new UnsupportedOperationException(method.getName());
            });
        }
    }
}
