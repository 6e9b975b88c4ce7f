import { z } from 'zod'

/** Why a run began late, and when that ended (Unix ms). */
export const lateBecauseSchema = z.object({
  /**
   * `daemon_start`: the daemon that ran it had not started. `skill_paused`: its skill was paused.
   * `previous_run`: another run of the schedule went on.
   */
  cause: z.enum(['daemon_start', 'skill_paused', 'previous_run']),
  until: z.number(),
})
export type LateBecause = z.infer<typeof lateBecauseSchema>
