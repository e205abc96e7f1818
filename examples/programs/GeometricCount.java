/* A count with two-sided geometric noise for tollens, from SecureRandom. It keeps epsilon = 1 / SCALE.
 *
 *   $ javac -d build GeometricCount.java
 *   $ tollens audit "command:java -cp build GeometricCount 1" --claim epsilon=1 --neighbours "add_remove:[1, 1, 1]"
 *   $ tollens audit "command:java -cp build GeometricCount 0.5" --claim epsilon=1 --neighbours "add_remove:[1, 1, 1]"
 *
 * The second audit refutes its claim: half the scale is twice the epsilon.
 */
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.security.SecureRandom;
import java.util.StringJoiner;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

public class GeometricCount {
    private static final SecureRandom SOURCE = new SecureRandom();
    private static final Pattern REQUEST =
            Pattern.compile("\\{\"data\": \\[([\\d, ]*)\\], \"n\": (\\d+), \"seed\": \\d+\\}");

    /** Failures before the first success, where each trial fails with probability exp(-1 / scale). */
    static long geometric(double scale) {
        return (long) Math.floor(-scale * Math.log(1 - SOURCE.nextDouble()));
    }

    static long count(String rows) {
        return rows.isBlank() ? 0 : rows.split(",").length;
    }

    /** The difference of two geometric numbers has the two-sided law. */
    static long noisyCount(String rows, double scale) {
        return count(rows) + geometric(scale) - geometric(scale);
    }

    public static void main(String[] words) throws IOException {
        double scale = Double.parseDouble(words[0]);
        String version = System.getProperty("java.version");
        System.out.println("{\"tollens\": 1, \"packages\": {\"java\": \"" + version + "\"}}");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Matcher request = REQUEST.matcher(line);
            if (!request.matches()) {
                System.out.println("{\"fault\": \"data must be a list of numbers\"}");
                return;
            }
            StringJoiner outputs = new StringJoiner(", ", "{\"outputs\": [", "]}");
            for (long run = Long.parseLong(request.group(2)); run > 0; run--) {
                outputs.add(Long.toString(noisyCount(request.group(1), scale)));
            }
            System.out.println(outputs); // one line for all runs; println flushes it
        }
    }
}
