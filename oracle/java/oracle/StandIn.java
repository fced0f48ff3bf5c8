package oracle;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;

/** What Kafka's code wants around it and a test has not: an object that answers through a handler, its constructor never run. */
final class StandIn {
    private StandIn() {}

    /** Of the first of these types that the release has; what the handler does not know it may answer with null. */
    static Object of(Release release, InvocationHandler handler, String... names) throws Exception {
        Class<?> type = release.find(names);
        if (type.isInterface()) return Proxy.newProxyInstance(release.loader, new Class<?>[] {type}, handler);
        return unmade(subclass(release, type, handler));
    }

    /** A clock that stands at 0, so that what a coordinator took from it can be told from what the log said. */
    static Object clock(Release release) throws Exception {
        return of(release, (proxy, method, given) -> method.getReturnType() == long.class ? 0L : null, "org.apache.kafka.common.utils.Time");
    }

    /** A subclass whose every method asks the handler. Byte Buddy is among the jars of the releases that need one. */
    private static Class<?> subclass(Release release, Class<?> type, InvocationHandler handler) throws Exception {
        Class<?> matcher = release.find("net.bytebuddy.matcher.ElementMatcher");
        Class<?> implementation = release.find("net.bytebuddy.implementation.Implementation");
        Object buddy = release.find("net.bytebuddy.ByteBuddy").getConstructor().newInstance();
        Object builder = buddy.getClass().getMethod("subclass", Class.class).invoke(buddy, type);
        Object all = release.find("net.bytebuddy.matcher.ElementMatchers").getMethod("any").invoke(null);
        Object asking = release.find("net.bytebuddy.implementation.InvocationHandlerAdapter")
            .getMethod("of", InvocationHandler.class).invoke(null, handler);
        Object methods = invoke(builder, "method", matcher, all);
        Object made = invoke(invoke(methods, "intercept", implementation, asking), "make");
        Object loaded = invoke(made, "load", ClassLoader.class, release.loader);
        return (Class<?>) invoke(loaded, "getLoaded");
    }

    private static Object invoke(Object on, String name, Class<?> type, Object argument) throws Exception {
        Method method = on.getClass().getMethod(name, type);
        method.setAccessible(true);
        return method.invoke(on, argument);
    }

    private static Object invoke(Object on, String name) throws Exception {
        Method method = on.getClass().getMethod(name);
        method.setAccessible(true);
        return method.invoke(on);
    }

    private static Object unmade(Class<?> type) throws Exception {
        Class<?> unsafe = Class.forName("sun.misc.Unsafe");
        java.lang.reflect.Field only = unsafe.getDeclaredField("theUnsafe");
        only.setAccessible(true);
        return unsafe.getMethod("allocateInstance", Class.class).invoke(only.get(null), type);
    }
}
