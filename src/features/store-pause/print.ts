import { pathGet } from '../../core/json.ts'
import type { Printers } from '../../core/readable.ts'

export const printers: Printers = {
  'daemon-resume': (result) =>
    pathGet(result, 'resumed') === true
      ? 'Messages, replies, pushes and schedules continue.'
      : 'Nothing was paused.',
}
