// A noisy count for tollens: `node noisy_count.js SCALE`. It needs nothing but Node.js.
const crypto = require("crypto");
const readline = require("readline");

const scale = Number(process.argv[2]);

function uniform() {
  // in (0, 1), from the operating system
  return (crypto.randomBytes(6).readUIntBE(0, 6) + 0.5) / 2 ** 48;
}

function noisyCount(rows) {
  const sign = uniform() < 0.5 ? -1 : 1;
  return rows.length - sign * scale * Math.log(uniform());
}

// JSON.stringify writes NaN and infinities as null, and 1.0 as 1
function value(number) {
  return { $float: Number.isFinite(number) ? number : String(number) };
}

function say(what) {
  process.stdout.write(JSON.stringify(what) + "\n");
}

say({ tollens: 1, packages: { node: process.versions.node } });
readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const { data, n } = JSON.parse(line);
  for (let run = 0; run < n; run++) {
    try {
      say({ output: value(noisyCount(data)) });
    } catch (error) {
      say({ error: { type: error.name, message: error.message } });
    }
  }
});
