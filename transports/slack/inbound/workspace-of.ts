import type { JsonObject } from '../../../src/core/json.ts'
import { objectsAt, textAt } from '../fields.ts'
import type { Workspace, Workspaces } from '../workspaces.ts'

/** Whose payload it is: the installation that it is delivered to. Undefined where there is no bot token for it. */
export function workspaceOf(payload: JsonObject, workspaces: Workspaces): Workspace | undefined {
  const authorized = objectsAt(payload, 'authorizations')
  for (const each of authorized) {
    const found = workspaces.find(textAt(each, 'team_id') ?? '')
    if (found) return found
  }
  // A modal may be sent by somebody of another workspace that shares the channel; `team` is theirs then.
  const installed = textAt(payload, 'view.app_installed_team_id')
  const claimed =
    installed ?? textAt(payload, 'team_id') ?? textAt(payload, 'team.id') ?? textAt(payload, 'user.team_id')
  if (claimed !== undefined) return workspaces.find(claimed)
  // An app of a whole organisation names none.
  return authorized.some((each) => textAt(each, 'team_id') !== undefined) ? undefined : workspaces.only()
}
