import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { attempt as tryTo } from '../../lib/attempt.ts'
import { defined } from '../../lib/defined.ts'
import type { Terminal } from '../terminal.ts'
import type { Deliver } from './delivery.ts'

/** The exit code by which a script permanently rejects an event. */
export const DROP = 100
/** Ms between SIGTERM and SIGKILL. */
const LAST_MOMENT = 5_000

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
    const own = { TRIVIUM_EVENT: String(event.id), TRIVIUM_ATTEMPT: String(attempt) }
    // In a process group of its own, so that everything the shell started can be ended.
    const child = spawn(command, { shell: true, detached: true, cwd, env: { ...env, ...own } })
    const late = timeout === undefined ? undefined : AbortSignal.timeout(timeout)
    const ended = AbortSignal.any([signal, ...(late ? [late] : [])])
    const stop = () => end(child)
    ended.addEventListener('abort', stop, { once: true })
    if (ended.aborted) stop()
    child.stdout.on('data', (text) => print(String(text)))
    child.stderr.on('data', (text) => terminal.err(String(text)))
    // The command need not read its input.
    child.stdin.on('error', () => undefined)
    child.stdin.end(`${JSON.stringify({ ...event, ...defined({ message }) })}\n`)
    const failed = new Promise<string>((resolve) => child.once('error', ({ message }) => resolve(message)))
    const over = await Promise.race([once(child, 'close'), failed])
    ended.removeEventListener('abort', stop)
    if (typeof over === 'string') return { ok: false, said: over, fields: { error: over } }
    const [code, killed]: (number | string | null)[] = over
    if (late?.aborted) return { ok: false, said: 'timeout', fields: { error: 'timeout' } }
    if (code === null) return { ok: false, said: String(killed), fields: { signal: String(killed) } }
    const exit = Number(code)
    return { ok: exit === 0, said: `exit ${exit}`, fields: { exit }, ...(exit === DROP && { drop: true }) }
  }
}

function end({ pid }: ChildProcess): void {
  if (pid === undefined) return
  const kill = (signal: NodeJS.Signals) => tryTo(() => process.kill(-pid, signal))
  kill('SIGTERM')
  setTimeout(() => kill('SIGKILL'), LAST_MOMENT).unref()
}
