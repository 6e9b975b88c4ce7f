/** The source of a skill. `run`: its method; `before`: code in front of the skill. */
export function skillSource(run: string, before = '', name = 'bench'): string {
  return `${before}\nexport default { name: '${name}', description: 'For the benchmark.', ${run} }\n`
}

/**
 * A skill that never finishes, like one that waits for a model. It keeps all 64 runs of the route
 * busy, so that only accepting is measured.
 */
export const BUSY_SKILL: string = skillSource(
  'run: ({ signal }) => new Promise((resolve) => signal.addEventListener("abort", resolve))',
)

export const NO_OP_SKILL: string = skillSource('run() {}')

/** A route that sends every message to the skill `bench`. */
export const ALL_TO_BENCH = 'routes: [{ name: all, skill: bench, timeout: 20d, concurrency: 64 }]\n'
