import { subscribe } from 'node:diagnostics_channel'
import { readdirSync, readFileSync } from 'node:fs'

export type Usage = { user: number; system: number; processes: number }

/** The unit of times in /proc: Linux reports 100 ticks a second. */
const TICK_MS = 10
let processes = 0
subscribe('child_process', () => {
  processes++
})

/** Processor time in ms of this process, on Linux with that of its children and their children. */
export function usageSoFar(): Usage {
  try {
    const childrenOf = Map.groupBy(runningProcesses(), ({ parent }) => parent)
    let user = 0
    let system = 0
    const add = (all: readonly Running[] = []) => {
      for (const { id, ...times } of all) {
        user += times.user
        system += times.system
        add(childrenOf.get(id))
      }
    }
    add([readProcess(String(process.pid))])
    return { user, system, processes }
  } catch {
    const { user, system } = process.cpuUsage()
    return { user: user / 1000, system: system / 1000, processes }
  }
}

/** `user` and `system` include the children that have ended. */
type Running = { id: number; parent: number; user: number; system: number }

function runningProcesses(): Running[] {
  return readdirSync('/proc').flatMap((name) => {
    try {
      return /^\d+$/.test(name) ? [readProcess(name)] : []
    } catch {
      // It has ended meanwhile.
      return []
    }
  })
}

function readProcess(id: string): Running {
  // After the name in brackets: parent is field 4; utime, stime, cutime and cstime are 14 to 17.
  const fields = readFileSync(`/proc/${id}/stat`, 'latin1').split(') ').at(-1)?.split(' ') ?? []
  const [utime = 0, stime = 0, cutime = 0, cstime = 0] = fields.slice(11, 15).map(Number)
  return {
    id: Number(id),
    parent: Number(fields[1]),
    user: (utime + cutime) * TICK_MS,
    system: (stime + cstime) * TICK_MS,
  }
}
