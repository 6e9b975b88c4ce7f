import { spokenName, WITH_FORMS } from './grammar.ts'

/** The command that lists what an error did not find, by its code. */
const LISTS: Readonly<Record<string, string>> = {
  message_not_found: 'message list',
  dead_letter_not_found: 'dead-letter list',
  approval_not_found: 'approval list',
  gateway_not_found: 'gateway list',
  skill_not_found: 'skill list',
  subscription_not_found: 'subscription list',
  send_not_found: 'send list',
  group_not_found: 'group list',
  job_not_found: 'job list',
  person_not_found: 'person list',
}

/** The same for `not_found`, by the kind in its text: `There is no route late.` */
const LISTS_BY_KIND: Readonly<Record<string, string>> = {
  route: 'route list',
  gateway: 'gateway list',
  skill: 'skill list',
  schedule: 'schedule list',
  conversation: 'conversation list',
  'consumer group': 'group list',
  call: 'call list',
  task: 'task list',
  audit: 'audit list',
}

/** Errors that quote a file, or the error of a skill. */
const QUOTING: ReadonlySet<string> = new Set([
  'config_invalid',
  'skill_broken',
  'skill_failed',
  'listener_failed',
])

/** Actions of the audit log have the names of skills. */
const NO_ACTION = 'There is no action '

/** Texts of errors that already say how to go on. */
const HAS_NEXT_STEP = /Did you mean|There are: |`(npx )?trivium /

/**
 * The text of an error for people: skills are named as commands, and an error about something that
 * does not exist names the command that lists what does.
 */
export function errorText({ code, message }: { code: string; message: string }): string {
  const isQuoting = QUOTING.has(code) || message.startsWith(NO_ACTION)
  const text = isQuoting ? message : withShortJobs(withCommands(message))
  const kind = /^There is no ([a-z]+(?: group)?) /.exec(message)?.[1] ?? ''
  const list = code === 'not_found' ? LISTS_BY_KIND[kind] : LISTS[code]
  if (list === undefined || HAS_NEXT_STEP.test(text)) return text
  return `${text} \`trivium ${list}\` lists them.`
}

/** Not in paths, file names, longer words and the values of a flag. */
const SKILL_NAME = /(?<![\w./`-])(?<!expected one of [\w, -]*)`?([a-z]+(?:-[a-z]+)+)`?(?![\w/-])/g

/** The whole id of a job. */
const JOB_ID =
  /\b(?:replay|dead-letters|person-erase)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{4}([0-9a-f]{8})\b/g

/** At a terminal, jobs have the end of their id, as in lists. Commands take it. */
function withShortJobs(text: string): string {
  return process.stderr.isTTY ? text.replaceAll(JOB_ID, '$1') : text
}

/** `see job-list` becomes ``see `trivium job list` ``. */
function withCommands(text: string): string {
  return text.replaceAll(SKILL_NAME, (found, word: string) =>
    WITH_FORMS.has(word) ? `\`trivium ${spokenName(word)}\`` : found,
  )
}
