import { closed } from '../../core/arguments.ts'

/** `daemon-resume`. */
export const storePause = {
  /** Throws `forbidden`. */
  resume: closed({}).describe(
    'Resumes all daemons of the store after `trivium restore --paused` or `trivium store pause`: messages, replies, pushes and schedules continue.',
  ),
}
