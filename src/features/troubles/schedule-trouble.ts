import type { Trouble } from '../../core/trouble.ts'
import type { FailingSchedule } from './readings.ts'
import { firstLine, warning } from './trouble-parts.ts'

/** A schedule whose last run became a dead letter. */
export function scheduleTrouble({ id, name, skill, error: reason, since, count }: FailingSchedule): Trouble {
  return warning(
    'schedule-failed',
    { schedule: id, skill },
    {
      title: `Schedule ${firstLine(name)} fails`,
      text: `The last ${count === 1 ? 'run' : `${count} runs`} of ${skill} failed. ${firstLine(reason)}`,
      todo: 'Fix the skill, then retry the runs: `trivium dead-letter list --queue schedules` lists them.',
      count,
      since,
    },
  )
}
