import type { EndedPause } from './records.ts'

type Job = { lane: string; group: string }
type Route = { name: string; skill?: string | undefined }

/**
 * Makes a function that returns how long (ms) ended pauses held a dispatch job between two times
 * (Unix ms). Times of several pauses count once.
 */
export function createHeldTimes(ended: readonly EndedPause[], routes: () => readonly Route[]) {
  const skillOf = (group: string) => routes().find(({ name }) => name === group)?.skill
  return ({ lane, group }: Job, from: number, to: number): number => {
    if (ended.length === 0) return 0
    const concerns = (pause: EndedPause) => {
      if (pause.endedAt <= from || pause.since >= to) return false
      switch (pause.kind) {
        case 'gateway':
          return lane.startsWith(`${pause.name}/`)
        case 'route':
          return group === pause.name
        case 'skill':
          return skillOf(group) === pause.name
        default: {
          const conversation = `${pause.gateway}/${pause.name}`
          return !pause.drop && (lane === conversation || lane.startsWith(`${conversation}/`))
        }
      }
    }
    const periods = ended.filter(concerns).sort((a, b) => a.since - b.since)
    let total = 0
    let end = from
    for (const { since, endedAt } of periods) {
      total += Math.max(0, Math.min(endedAt, to) - Math.max(since, end))
      end = Math.max(end, Math.min(endedAt, to))
    }
    return total
  }
}
