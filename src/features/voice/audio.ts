/** Audio file extensions, for files without a type. */
const EXTENSION = /\.(m4a|mp3|mpga|mpeg|ogg|oga|opus|wav|weba|flac|aac|amr|caf)$/i

/** Whether a file is a recording: audio, or a clip that contains only audio. */
export function isAudio({ name, type }: { name: string; type: string }): boolean {
  const [kind = ''] = type.toLowerCase().split(';', 1)
  if (kind.startsWith('audio/')) return !/midi|mpegurl|scpls/.test(kind)
  return /^(application\/(octet-stream|ogg)|)$/.test(kind.trim()) && EXTENSION.test(name)
}

/**
 * Duration of a recording in seconds, if its container states it: WAV, Ogg, and MP4 as written by phones and
 * Slack.
 */
export function secondsOf(bytes: Buffer): number | undefined {
  if (bytes.length < 44) return undefined
  const magic = bytes.toString('latin1', 0, 4)
  if (magic === 'RIFF') return secondsOfWav(bytes)
  if (magic === 'OggS') return secondsOfOgg(bytes)
  return bytes.toString('latin1', 4, 8) === 'ftyp' ? secondsOfMp4(bytes) : undefined
}

function secondsOfWav(bytes: Buffer): number | undefined {
  const rate = bytes.indexOf('fmt ')
  const perSecond = rate > 0 && rate + 20 <= bytes.length ? bytes.readUInt32LE(rate + 16) : 0
  return perSecond > 0 ? (bytes.length - 44) / perSecond : undefined
}

/** The position of the last page. Opus counts 48,000 per second; Vorbis states its rate. */
function secondsOfOgg(bytes: Buffer): number | undefined {
  const last = bytes.lastIndexOf('OggS')
  if (last + 14 > bytes.length) return undefined
  const position = Number(bytes.readBigInt64LE(last + 6))
  const vorbis = bytes.subarray(0, 200).indexOf('\u0001vorbis')
  const rate = vorbis > 0 ? bytes.readUInt32LE(vorbis + 12) : 48_000
  return position > 0 && rate > 0 ? position / rate : undefined
}

function secondsOfMp4(bytes: Buffer): number | undefined {
  const at = bytes.indexOf('mvhd')
  if (at < 0 || at + 36 > bytes.length) return undefined
  const isLong = bytes[at + 4] === 1
  const scale = bytes.readUInt32BE(at + (isLong ? 24 : 16))
  const length = isLong ? Number(bytes.readBigUInt64BE(at + 28)) : bytes.readUInt32BE(at + 20)
  return scale > 0 && length > 0 ? length / scale : undefined
}
