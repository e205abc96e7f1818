// A count with discrete Gaussian noise for tollens, drawn exactly: no floating-point number is used.
// With noise of variance V it keeps rho = 1 / (2 V) of zero-concentrated privacy.
//
//   $ rustc -O discrete_gaussian.rs
//   $ tollens audit "command:./discrete_gaussian 4" --claim rho=0.125 --neighbours "add_remove:[1, 1, 1]"
//   $ tollens audit "command:./discrete_gaussian 1" --claim rho=0.125 --neighbours "add_remove:[1, 1, 1]"
//
// The second audit refutes its claim: half the standard deviation is a quarter of the variance.
//
// The sampler is that of Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential
// Privacy" (2020), algorithms 1 to 3.
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};

struct Source(BufReader<File>); // bytes of the operating system

impl Source {
    /// A whole number from 0 to below - 1, all equally likely.
    fn uniform(&mut self, below: u64) -> u64 {
        let fair = u64::MAX - u64::MAX % below;
        loop {
            let mut bytes = [0; 8];
            self.0.read_exact(&mut bytes).expect("/dev/urandom");
            let drawn = u64::from_le_bytes(bytes);
            if drawn < fair {
                return drawn % below;
            }
        }
    }

    /// True with probability above / below, for above <= below.
    fn flip(&mut self, above: u64, below: u64) -> bool {
        self.uniform(below) < above
    }

    /// True with probability exp(-above / below).
    fn flip_exp(&mut self, above: u64, below: u64) -> bool {
        (0..above / below).all(|_| self.flip_exp_small(1, 1))
            && self.flip_exp_small(above % below, below)
    }

    /// The same for above <= below: how many terms of the series are drawn is odd.
    fn flip_exp_small(&mut self, above: u64, below: u64) -> bool {
        let mut terms = 1;
        while self.flip(above, below * terms) {
            terms += 1;
        }
        terms % 2 == 1
    }

    /// The discrete Laplace law: y has a probability in proportion to exp(-|y| / scale).
    fn laplace(&mut self, scale: u64) -> i64 {
        loop {
            let rest = self.uniform(scale);
            if !self.flip_exp(rest, scale) {
                continue;
            }
            let mut whole = 0;
            while self.flip_exp(1, 1) {
                whole += 1;
            }
            let size = (rest + scale * whole) as i64;
            match self.flip(1, 2) {
                true if size == 0 => continue, // or zero would count twice
                true => return -size,
                false => return size,
            }
        }
    }

    /// The discrete Gaussian law: y has a probability in proportion to exp(-y^2 / (2 variance)).
    fn gaussian(&mut self, variance: u64) -> i64 {
        let scale = variance.isqrt() + 1;
        loop {
            let drawn = self.laplace(scale);
            let off = (drawn.unsigned_abs() * scale).abs_diff(variance);
            if self.flip_exp(off * off, 2 * variance * scale * scale) {
                return drawn;
            }
        }
    }
}

/// What stands between two texts.
fn between<'a>(line: &'a str, before: &str, after: &str) -> Option<&'a str> {
    line.split_once(before)?.1.split_once(after).map(|(found, _)| found)
}

fn main() -> io::Result<()> {
    let variance: u64 = std::env::args().nth(1).and_then(|word| word.parse().ok()).expect("VARIANCE");
    let mut source = Source(BufReader::new(File::open("/dev/urandom")?));
    let mut answers = io::stdout().lock();
    writeln!(answers, "{{\"tollens\": 1}}")?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let Some(rows) = between(&line, "\"data\": [", "]") else {
            return writeln!(answers, "{{\"fault\": \"data must be a list of numbers\"}}");
        };
        let count = rows.split(',').filter(|row| !row.trim().is_empty()).count() as i64;
        let n: u64 = between(&line, "\"n\": ", ",").and_then(|n| n.parse().ok()).expect("n");
        let outputs: Vec<_> = (0..n).map(|_| (count + source.gaussian(variance)).to_string()).collect();
        writeln!(answers, "{{\"outputs\": [{}]}}", outputs.join(", "))?; // a line is flushed
    }
    Ok(())
}
