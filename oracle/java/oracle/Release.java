package oracle;

import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;

/** The classes of one Kafka release, apart from those of every other. */
final class Release {
    final ClassLoader loader;

    Release(String[] jars) throws MalformedURLException {
        URL[] urls = new URL[jars.length];
        for (int i = 0; i < jars.length; i++) urls[i] = url(jars[i]);
        loader = new URLClassLoader(urls, Release.class.getClassLoader());
    }

    private static URL url(String path) throws MalformedURLException {
        return new File(path).toURI().toURL();
    }

    Class<?> find(String... names) throws ClassNotFoundException {
        for (String name : names) {
            try {
                return Class.forName(name, true, loader);
            } catch (ClassNotFoundException absent) {
                if (name.equals(names[names.length - 1])) throw absent;
            }
        }
        throw new ClassNotFoundException("no name given");
    }

    /** Kafka's tools leave through Exit: that must not end the JVM that answers for the other releases. */
    void forbidExit() throws Exception {
        Class<?> exit = find("org.apache.kafka.common.utils.Exit");
        Class<?> procedure = find("org.apache.kafka.common.utils.Exit$Procedure");
        Object thrower = Proxy.newProxyInstance(loader, new Class<?>[] {procedure}, (proxy, method, given) -> {
            throw new Exited((int) given[0], (String) given[1]);
        });
        exit.getMethod("setExitProcedure", procedure).invoke(null, thrower);
        exit.getMethod("setHaltProcedure", procedure).invoke(null, thrower);
    }

    /** What was thrown, without the wrapping that reflection adds. */
    static Throwable cause(Throwable thrown) {
        while (thrown instanceof InvocationTargetException && thrown.getCause() != null) thrown = thrown.getCause();
        return thrown;
    }

    static final class Exited extends Error {
        final int status;

        Exited(int status, String message) {
            super(message);
            this.status = status;
        }
    }
}
