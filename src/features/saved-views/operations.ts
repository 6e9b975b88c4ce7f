import { z } from 'zod'
import { closed, name } from '../../core/arguments.ts'

/** The lists of the console that have saved views. */
const LISTS = ['messages', 'conversations', 'dead-letters', 'audit'] as const

const list = z.enum(LISTS).describe(`The list: ${LISTS.join(', ')}`)
const viewName = name.trim().max(60, 'expected at most 60 characters').describe('The name of the view')

/** Searches that all people with access to the console see: `view-…`. */
export const savedViews = {
  list: closed({ list: list.exactOptional() }).describe(
    'Lists the saved views: searches of messages, conversations, dead letters and the audit log.',
  ),
  /** Throws `limit_reached`. */
  save: closed({
    list,
    name: viewName,
    query: z
      .record(name.max(40), name.max(2_000))
      .refine((query) => Object.keys(query).length > 0, 'expected at least one filter')
      .refine((query) => Object.keys(query).length <= 20, 'expected at most 20 filters')
      .describe('The filters, as in the address of the console: {"search": "status:dead", "since": "1h"}'),
  }).describe('Saves a view for everybody. It replaces the one with the same list and name.'),
  /** Throws `not_found`. */
  delete: closed({ list, name: viewName }).describe('Deletes a saved view, for everybody.'),
}
