import { z } from 'zod'
import { closed, limit, optional, time } from '../../core/arguments.ts'
import { ACTORS } from '../../core/audit.ts'
import { spoken } from '../../core/spoken.ts'

/** `audit-list`. */
export const audit = {
  list: closed({
    by: optional('Only by this person or program; part of the name is enough'),
    action: optional('Only this action, or a glob such as dead-letter-*'),
    without: optional('Not these actions: names or globs such as message-*, separated by commas'),
    what: spoken(
      optional(
        'Only with this text: in what was done, the person or subject it is about, names, ids, or the reason',
      ),
      { flag: 'search' },
    ),
    kind: z.enum(ACTORS).exactOptional().describe('Only by persons, by tokens, or by Trivium itself'),
    outcome: optional(
      'Only with this outcome: done, approved, denied, expired, not-allowed (a refused call), cancelled, failed, or the code of an error',
    ),
    id: spoken(optional('Only the entry with this id'), { id: 'audit' }),
    since: time.exactOptional().describe('Only since a time, or an age such as 2h'),
    until: time.exactOptional().describe('Only before a time, or older than an age such as 2h'),
    before: z
      .int()
      .min(0)
      .exactOptional()
      .describe('Only older entries: the number that the end of the list names (`next` in JSON)'),
    limit: limit.default(50).describe('Maximum number of entries'),
  }).describe('Lists decisions and changes with their author, newest first; `next` continues the list.'),
}
