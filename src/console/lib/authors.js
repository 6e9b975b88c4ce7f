import { askerOf } from '../../lib/asker.ts'
import { person } from './api.js'

/**
 * The author of a reply, a decision or a pause, without the channel and the kind of sign-in:
 * `http control-token:ada` becomes `ada`. The control token without a name becomes `control token`.
 * Undefined without an author.
 */
export function authorOf(by) {
  const name = by?.replace(/^(http|cli|mcp|console) /, '')
  if (name === 'control-token' || name === 'control') return 'control token'
  return name?.replace(/^(oidc|control-token|token):/, '')
}

/** Whether the person who is signed in is this author. */
export function isOwn(by) {
  const { id, name } = person.value ?? {}
  return by !== undefined && (by === id || authorOf(by) === name)
}

/** Whether somebody on the command line is this author: `ada@laptop`. Nobody knows who that is here. */
export function isOnCommandLine(by) {
  return /^[^:\s]+@[^@\s]+$/.test(by ?? '')
}

/** Who asked for an approval: the name or the address of the sender, else the author. */
export function requesterOf(request) {
  const { name, address } = askerOf(request)
  return name ?? address ?? authorOf(request.by)
}
