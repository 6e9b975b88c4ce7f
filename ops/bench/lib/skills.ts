/** The source of a skill with this `run`, for the folder of a site. */
export function skillSource(run: string, before = '', name = 'bench'): string {
  return `${before}\nexport default { name: '${name}', description: 'For the benchmark.', ${run} }\n`
}

/**
 * Keeps all 64 places of dispatch busy, as skills that wait for a model do; so accepting is measured alone.
 */
export const BUSY_SKILL: string = skillSource(
  'run: ({ signal }) => new Promise((resolve) => signal.addEventListener("abort", resolve))',
)

export const NO_OP_SKILL: string = skillSource('run() {}')

/** Every message goes to the skill `bench`. */
export const ALL_TO_BENCH = 'routes: [{ name: all, skill: bench, timeout: 20d, concurrency: 64 }]\n'
