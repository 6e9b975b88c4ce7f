/** `ada: …`, `to chat:ada: …`, `to ada@example.com: …`. */
const WORKER_FIRST = /^\s*(?:to\s+)?((?:[\w-][\w.-]*:)?[\w.@+-]+)\s*:\s*(\S.*)$/s

/** The worker and the task in a delegation. */
export function workerOf(text: unknown, given: unknown): { worker: string; task: string } {
  const task = typeof text === 'string' ? text : ''
  if (typeof given === 'string') return { worker: given, task }
  const [, worker = 'worker', rest = task] = WORKER_FIRST.exec(task) ?? []
  return { worker, task: rest }
}
