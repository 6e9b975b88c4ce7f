import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { ROOT } from './root.ts'

/** The figures of one measurement, by name. */
export type Figures = Record<string, number>

const replySchema = z.object({
  id: z.number(),
  figures: z.record(z.string(), z.number()).optional(),
  error: z.string().optional(),
})

/** A process of the benchmark that answers calls. */
export type Peer = {
  pid: number
  /** Calls a handler of `servePeer` in that process and resolves with its figures. Rejects with its error, or if the process has ended. */
  call(name: string, params?: object): Promise<Figures>
  end(): Promise<void>
}

/** The cores: the measured process has the first one to itself; load and Redis share the other. */
export const CORE = { server: 0, load: 1 }

const hasTaskset = spawnSync('taskset', ['--version']).status === 0

/** The command that runs Node on one core, where the system can do that. */
export function pinned(core: number, args: readonly string[]): [command: string, args: string[]] {
  const node = [process.execPath, ...args]
  return hasTaskset ? ['taskset', ['-c', String(core), ...node]] : [process.execPath, [...args]]
}

/** Pins a process that runs already, with all its threads. */
export function pin(pid: number, core: number): void {
  if (hasTaskset) spawnSync('taskset', ['-a', '-c', '-p', String(core), String(pid)])
}

/** Starts `peers/<name>.ts` of the clone at `root` on a core. It ends with this process. */
export async function startPeer(
  name: string,
  core: number,
  options: { env?: Record<string, string>; nodeArgs?: readonly string[]; root?: string } = {},
): Promise<Peer> {
  const file = join(options.root ?? ROOT, 'ops', 'bench', 'peers', `${name}.ts`)
  const [command, args] = pinned(core, [...(options.nodeArgs ?? []), file])
  const child = spawn(command, args, {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, ...options.env },
  })
  const calls = new Map<number, PromiseWithResolvers<Figures>>()
  let last = 0
  child.on('message', (message) => {
    const { id, figures, error } = replySchema.parse(message)
    const waiting = calls.get(id)
    calls.delete(id)
    if (error === undefined) waiting?.resolve(figures ?? {})
    else waiting?.reject(new Error(`${name}: ${error}`))
  })
  child.on('exit', (code, signal) => {
    for (const { reject } of calls.values()) reject(new Error(`${name} ended (${code ?? signal})`))
  })
  const call = (handler: string, params: object = {}) => {
    const waiting = Promise.withResolvers<Figures>()
    if (!child.connected) return Promise.reject(new Error(`${name} has ended`))
    const id = ++last
    calls.set(id, waiting)
    child.send({ id, name: handler, params }, (error) => {
      if (error) waiting.reject(error)
    })
    return waiting.promise
  }
  await call('ready')
  return { pid: child.pid ?? 0, call, end: () => endChild(child) }
}

/** Ends a child: asks first, so that it can write its profile, and insists after ten seconds. */
export async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  const insist = setTimeout(() => child.kill('SIGKILL'), 10_000)
  await exit
  clearTimeout(insist)
}

const MICROS_PER_TICK = 10_000 // Linux counts 100 ticks a second.

/** Processor time that a process has used so far, all threads, in microseconds. */
export function cpuMicros(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * MICROS_PER_TICK
}

/** Resident memory of a process in megabytes: now, or the most that it ever had. */
export function residentMegabytes(pid: number, which: 'VmRSS' | 'VmHWM' = 'VmRSS'): number {
  const [, kilobytes] =
    new RegExp(`^${which}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1024
}
