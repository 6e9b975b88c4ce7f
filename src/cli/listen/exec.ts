import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { attempt as tryTo } from '../../lib/attempt.ts'
import { defined } from '../../lib/defined.ts'
import type { Terminal } from '../terminal.ts'
import type { Deliver } from './delivery.ts'

/** The exit code by which a script permanently rejects an event. */
export const DROP = 100
/** Ms between SIGTERM and SIGKILL. */
const KILL_AFTER = 5_000

/**
 * Delivers an event to a command, as JSON on standard input. Exit code 0: done. 100: rejected
 * permanently. Others: failed. With `--json`, output of the command goes to stderr.
 */
export function createExec(
  { command, cwd, timeout }: { command: string; cwd: string; timeout: number | undefined },
  env: NodeJS.ProcessEnv,
  terminal: Terminal,
): Deliver {
  const print = terminal.json ? terminal.err : terminal.out
  return async ({ event, message, attempt }, signal) => {
    const variables = { TRIVIUM_EVENT: String(event.id), TRIVIUM_ATTEMPT: String(attempt) }
    // In a process group of its own, so that everything the shell started can be ended.
    const child = spawn(command, { shell: true, detached: true, cwd, env: { ...env, ...variables } })
    const timedOut = timeout === undefined ? undefined : AbortSignal.timeout(timeout)
    const aborted = AbortSignal.any([signal, ...(timedOut ? [timedOut] : [])])
    const stop = () => endGroup(child)
    aborted.addEventListener('abort', stop, { once: true })
    if (aborted.aborted) stop()
    // A character may be in two chunks.
    child.stdout.setEncoding('utf8').on('data', (text) => print(String(text)))
    child.stderr.setEncoding('utf8').on('data', (text) => terminal.err(String(text)))
    // The command need not read its input.
    child.stdin.on('error', () => undefined)
    child.stdin.end(`${JSON.stringify({ ...event, ...defined({ message }) })}\n`)
    /** The message of the error of a command that could not be started. */
    const failed = new Promise<string>((resolve) => child.once('error', ({ message }) => resolve(message)))
    const result = await Promise.race([once(child, 'close'), failed])
    aborted.removeEventListener('abort', stop)
    if (typeof result === 'string') return { ok: false, summary: result, fields: { error: result } }
    const [code, killedBy]: (number | string | null)[] = result
    if (timedOut?.aborted) return { ok: false, summary: 'timeout', fields: { error: 'timeout' } }
    if (code === null) return { ok: false, summary: String(killedBy), fields: { signal: String(killedBy) } }
    const exit = Number(code)
    const drop = exit === DROP && { drop: true as const }
    return { ok: exit === 0, summary: `exit ${exit}`, fields: { exit }, ...drop }
  }
}

/** Ends the process group of a command. */
function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  const kill = (signal: NodeJS.Signals) => tryTo(() => process.kill(-pid, signal))
  kill('SIGTERM')
  setTimeout(() => kill('SIGKILL'), KILL_AFTER).unref()
}
