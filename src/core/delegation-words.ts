/** A name, or an identity with its gateway. In `10:30`, the digits are no gateway. */
const WORKER = String.raw`((?:(?!\d+:)[\w-][\w.-]*:)?[\w.@+-]+)`
/**
 * `ada: …`, `chat:ada: …`, `ada@example.com: …`. Without white space behind it, the colon belongs
 * to a URL, a time of day or another part of the task.
 */
const WORKER_FIRST = new RegExp(String.raw`^\s*${WORKER}\s*:\s+(\S.*)$`, 's')
/** `to ada: …`. After `to`, white space behind the colon is optional: `to ada:check …`. */
const TO_WORKER = new RegExp(String.raw`^\s*to\s+${WORKER}\s*:(?:\s+|(?=\p{L}))(\S.*)$`, 'su')

/** The worker if neither the call nor the text names one. */
const DEFAULT_WORKER = 'worker'

/**
 * The worker and the task in a delegation: the text may start with the worker, unless `explicit`
 * names one.
 */
export function workerOf(text: unknown, explicit: unknown): { worker: string; task: string } {
  const task = typeof text === 'string' ? text : ''
  if (typeof explicit === 'string') return { worker: explicit, task }
  const [, worker = DEFAULT_WORKER, rest = task] = TO_WORKER.exec(task) ?? WORKER_FIRST.exec(task) ?? []
  return { worker, task: rest }
}
