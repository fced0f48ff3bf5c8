import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** HDFS of one name node and one data node on 127.0.0.1, in a folder: prints the name node's port, and ends with its input. */
public final class Hdfs {
    public static void main(String[] arguments) throws Exception {
        Configuration settings = new Configuration();
        MiniDFSCluster cluster = new MiniDFSCluster.Builder(settings, new File(arguments[0])).build();
        cluster.waitActive();
        System.out.println("port " + cluster.getNameNodePort());
        while (System.in.read() >= 0) {
            // Nobody says anything.
        }
        System.exit(0);
    }
}
