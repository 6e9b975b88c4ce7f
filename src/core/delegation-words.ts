/** `ada: …`, `to chat:ada: …`, `to ada@example.com: …`. */
const WORKER_FIRST = /^\s*(?:to\s+)?((?:[\w-][\w.-]*:)?[\w.@+-]+)\s*:\s*(\S.*)$/s

/** The worker if neither the call nor the text names one. */
const DEFAULT_WORKER = 'worker'

/** The worker and the task in a delegation: the text may start with the worker, unless `explicit` names one. */
export function workerOf(text: unknown, explicit: unknown): { worker: string; task: string } {
  const task = typeof text === 'string' ? text : ''
  if (typeof explicit === 'string') return { worker: explicit, task }
  const [, worker = DEFAULT_WORKER, rest = task] = WORKER_FIRST.exec(task) ?? []
  return { worker, task: rest }
}
