import type { Workspace } from '../workspaces.ts'

/** The channels of direct messages, by whom they are with. */
export type Directs = {
  /** Opens the direct messages of the bot with a user, or finds them: Slack answers the same each time. */
  channelOf(user: string, workspace: Workspace): Promise<string>
}

const MAX_DIRECTS = 5000

export function createDirects(): Directs {
  const known = new Map<string, string>()
  return {
    async channelOf(user, { team, api }) {
      const place = `${team}/${user}`
      const found = known.get(place)
      if (found !== undefined) return found
      const answer = await api.write('conversations.open', (web) => web.conversations.open({ users: user }))
      const channel = answer.channel?.id ?? user
      if (known.size >= MAX_DIRECTS) known.clear()
      known.set(place, channel)
      return channel
    },
  }
}
