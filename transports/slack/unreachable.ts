/** What to do about a place where Slack accepts no post, by its error. */
const PLACES: Readonly<Record<string, string>> = {
  is_archived: 'the channel is archived; unarchive it in Slack, or tell them another way',
  channel_not_found:
    'the channel is gone, or the bot cannot see it; invite the bot, or tell them another way',
  not_in_channel: 'the bot is not in the channel; invite it in Slack',
}

/** Why later posts to the same place fail too; undefined for other errors. */
export function unreachableIn(error: string): string | undefined {
  return Object.entries(PLACES).find(([code]) => new RegExp(`\\b${code}\\b`).test(error))?.[1]
}
