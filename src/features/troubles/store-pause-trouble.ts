import type { Trouble } from '../../core/trouble.ts'
import { warning } from './trouble-parts.ts'

/** The entry for a store that is paused, by a restore or by `trivium store pause`. */
export function storePauseTroubles(since: number | undefined): Trouble[] {
  if (since === undefined) return []
  return [
    warning(
      'paused',
      { reason: 'restore' },
      {
        title: 'Everything is paused',
        text: 'Since a restore or `trivium store pause`. Messages are accepted; no skill, schedule, reply, planned send or push runs.',
        todo: 'Cancel or pause what must not run again; then `trivium daemon resume` begins the work.',
        since,
      },
    ),
  ]
}
