import { slackFailure } from '../failure.ts'
import { type Posting, postAll, updatePost } from './post.ts'
import type { Progress, SentLog } from './sent-log.ts'

/** Slack's ways to say that a post is not there any more, or cannot be changed any more. */
const GONE = new Set(['message_not_found', 'cant_update_message', 'edit_window_closed'])

/**
 * Puts a reply into the posts of the earlier one that is named in `progress.replaces`, and posts what is left over, as
 * posts of its own. From a post on that somebody deleted, it is posted anew. Doing it twice changes nothing, once the
 * posts of its own were looked for.
 */
export async function replaceAll(posting: Posting, sent: SentLog): Promise<void> {
  const { key, content, workspace, target, progress, save } = posting
  const { parts, blocks } = content
  const { replaces } = progress
  if (!replaces) return
  const channel = progress.channel ?? target.channel
  // Posts of its own come after all the others were changed.
  const isShown = progress.posted.length > replaces.posts
  for (let part = 0; part < replaces.posts && !isShown; part++) {
    const shown = { text: parts[part] ?? '', ...(part === 0 && blocks ? { blocks } : {}) }
    try {
      await updatePost(workspace, key, { channel, ts: progress.posted[part] ?? '', ...shown })
    } catch (error) {
      if (!isGone(error)) throw error
      progress.replaces = { ...replaces, posts: part }
      progress.posted.length = part
      await save()
      break
    }
  }
  await postAll(posting)
  await handOver(replaces.key, { ...posting, target: { ...target, channel } }, sent)
}

/** Takes over the posts of an earlier reply, before any is changed. */
export async function takeOver(key: string, earlier: Progress, posting: Posting): Promise<void> {
  const { content, progress, save } = posting
  progress.posted = earlier.posted.slice(0, content.parts.length)
  progress.replaces = { key, posts: progress.posted.length }
  if (earlier.channel !== undefined) progress.channel = earlier.channel
  await save()
}

/** Takes away the posts that are left of a longer one; the next that replaces it finds the posts as they are now. */
async function handOver(key: string, { workspace, target, progress }: Posting, sent: SentLog): Promise<void> {
  const { posted } = progress
  const earlier = await sent.read(key)
  for (const ts of earlier.posted.filter((each) => !posted.includes(each))) {
    try {
      await workspace.api.write('chat.delete', (web) => web.chat.delete({ channel: target.channel, ts }))
    } catch (error) {
      // Somebody may have deleted it, or nobody may.
      if (slackFailure(error).kind !== 'rejected') throw error
    }
  }
  if (posted.join() !== earlier.posted.join()) await sent.write(key, { ...earlier, posted })
}

function isGone(error: unknown): boolean {
  const failure = slackFailure(error)
  return failure.kind === 'rejected' && GONE.has(failure.code)
}
