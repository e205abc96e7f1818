/* A service that releases noisy counts: `java CountService.java PORT`. It has a mistake.
 *
 * POST {"rows": [...]} to /count, whose noise is right for epsilon = 1, or to /v2/count, whose noise
 * has half the scale.
 */
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.security.SecureRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

public class CountService {
    private static final SecureRandom SOURCE = new SecureRandom();
    private static final Pattern ROWS = Pattern.compile("\\{\"rows\": \\[([^\\]]*)\\]\\}");

    static double laplace(double scale) {
        double size = -scale * Math.log(1 - SOURCE.nextDouble());
        return SOURCE.nextBoolean() ? size : -size;
    }

    static void count(HttpExchange exchange, double scale) throws IOException {
        Matcher body = ROWS.matcher(new String(exchange.getRequestBody().readAllBytes()));
        if (body.matches()) {
            int rows = body.group(1).isBlank() ? 0 : body.group(1).split(",").length;
            answer(exchange, 200, "{\"count\": " + (rows + laplace(scale)) + "}");
        } else {
            answer(exchange, 400, "{\"error\": \"post rows to /count\"}");
        }
    }

    static void answer(HttpExchange exchange, int status, String content) throws IOException {
        byte[] body = content.getBytes();
        exchange.getResponseHeaders().add("Content-Type", "application/json");
        exchange.sendResponseHeaders(status, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    public static void main(String[] words) throws IOException {
        InetSocketAddress place =
                new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(words[0]));
        HttpServer server = HttpServer.create(place, 0);
        server.createContext("/count", exchange -> count(exchange, 1.0));
        server.createContext("/v2/count", exchange -> count(exchange, 0.5));
        server.start();
        System.out.println("serving on port " + server.getAddress().getPort());
    }
}
