import type { NewMessage } from '../../../src/core/message.ts'
import { targetData } from '../conversation.ts'
import { defined, objectsAt } from '../fields.ts'
import type { Workspace } from '../workspaces.ts'
import type { Draft } from './draft.ts'
import type { FetchedFiles } from './fetch-files.ts'
import { saysNothing, shownData, shownText } from './shown.ts'
import { type Names, toMarkdown } from './to-markdown.ts'

/** The message of a draft, once its names are known and its files are here. `awaited`: its end is waited for. */
export function messageOf(
  gateway: string,
  draft: Draft,
  workspace: Workspace,
  more: { names: Names; fetched: FetchedFiles | undefined; awaited: boolean },
): NewMessage {
  const { channel, user } = draft
  const { names, fetched, awaited } = more
  const name = draft.userName ?? names.get(user)
  const channelName = draft.channelName ?? (channel === undefined ? undefined : names.get(channel))
  return {
    gateway,
    transport: 'slack',
    conversation: draft.conversation,
    key: draft.key,
    from: { id: user, ...(name === undefined ? {} : { name }), address: user, verified: true },
    ...(channel === undefined ? {} : { to: channelName ?? channel }),
    text: textOf(draft, workspace.botUser, names),
    attachments: fetched?.attachments ?? [],
    data: defined({
      event: draft.event,
      team: workspace.team,
      teamName: workspace.name,
      channel:
        channel === undefined ? undefined : [channel, ...(channelName === undefined ? [] : [channelName])],
      thread: draft.thread,
      ts: draft.ts,
      direct: draft.direct,
      mention: draft.mention,
      ...(draft.shown && shownData(draft.shown)),
      ...draft.extra,
      files: fetched?.files,
      replyTarget: targetData(draft.target),
      respond: awaited ? 'result' : undefined,
    }),
  }
}

function textOf(draft: Draft, botUser: string, names: Names): string {
  const text = toMarkdown(...withoutOwnMention(draft, botUser), names)
  return draft.shown && saysNothing(text) ? shownText(draft.shown, names) : text
}

/** `@bot do this` says `do this`: whom it is said to is in `data.mention`. */
function withoutOwnMention(draft: Draft, botUser: string): [string, Draft['blocks']] {
  const { text, blocks } = draft
  const bare = ownText(draft, botUser)
  return [bare, bare === text || !Array.isArray(blocks) ? blocks : withoutFirstUser(blocks, botUser)]
}

/** What a draft says in its text, in Slack's markup, but for the mention at its start. */
export function ownText({ text, mention }: Draft, botUser: string): string {
  return mention ? text.replace(new RegExp(`^\\s*<@${botUser}(\\|[^>]*)?>[\\s,:]*`), '') : text
}

function withoutFirstUser(blocks: NonNullable<Draft['blocks']>, botUser: string): Draft['blocks'] {
  const copy = structuredClone(blocks)
  const elements = objectsAt(copy, '0.elements.0.elements')
  const at = elements.findIndex((element) => element.type === 'user' && element.user_id === botUser)
  if (at < 0 || !Array.isArray(copy)) return blocks
  const rest = elements.slice(at + 1)
  const [first] = rest
  if (typeof first?.text === 'string') first.text = first.text.replace(/^[\s,:]+/, '')
  const section = objectsAt(copy, '0.elements')[0]
  if (section) section.elements = rest
  return copy
}
