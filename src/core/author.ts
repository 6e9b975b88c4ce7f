import type { Caller } from './call.ts'

/** The author of notifications of `notify:` in routes.yaml. */
export const NOTIFIER = 'notify'

/** How records name a holder of the control token who gave no name. */
const CONTROL_TOKEN = 'control-token'
/** Other names of such a holder, in calls by HTTP and in records of older versions. */
const OTHER_NAMES = /^(?:http )?control$/

/** The author of a record: the person or program that made a call, else the kind of the caller. */
export function authorOf({ id, kind }: Pick<Caller, 'id' | 'kind'>): string {
  return authorName(id ?? kind)
}

/** The name of an author, the same in all records. */
export function authorName(by: string): string {
  return OTHER_NAMES.test(by) ? CONTROL_TOKEN : by
}

/**
 * An author as people read it: `control-token:ada` and `oidc:ada` become `ada`, and
 * `control-token` alone becomes `control token`.
 */
export function shownAuthor(by: unknown): string {
  if (typeof by !== 'string' || by === '') return 'somebody'
  const name = authorName(by.replace(/^(?:http|cli|mcp|console) /, ''))
  return name === CONTROL_TOKEN ? 'control token' : name.replace(/^(?:oidc|control-token|token):/, '')
}
