// A backup of changedetection.io holds every snapshot and may have gigabytes. Only its settings are sent: a zip archive of
// the files that Webloom reads, put together of pieces of the file, so that nothing large is in memory.

const WANTED = new Set([
  "changedetection.json",
  "url-watches.json",
  "watch.json",
  "tag.json",
  "restock_diff.json",
  "headers.txt",
  "url-list.txt",
  "url-list-with-tags.txt",
]);
const LONGEST_END = 65_557; // bytes of the last record, with the longest comment
const LARGEST_DIRECTORY = 256 * 1024 * 1024;
const AT_ONCE = 200;
const LOCAL = 30; // bytes of a header before the name
const ENTRY = 46;
const END = 22;

type Member = { head: Uint8Array; name: Uint8Array; size: number; at: number };

export async function isZip(file: Blob): Promise<boolean> {
  const [one, two, three] = new Uint8Array(await file.slice(0, 3).arrayBuffer());
  return one === 0x50 && two === 0x4b && (three === 3 || three === 5);
}

/** The archive with the wanted files alone. One that can't be understood here stays as it is: the API says what is wrong. */
export async function settingsOf(file: Blob): Promise<Blob> {
  try {
    const { members, total } = await directoryOf(file);
    if (members.length === 0 || members.length === total) return file;
    return await archiveOf(file, members);
  } catch {
    return file;
  }
}

async function bytesOf(file: Blob, start: number, size: number): Promise<DataView> {
  const bytes = await file.slice(start, start + size).arrayBuffer();
  if (bytes.byteLength < size) throw new Error("cut off");
  return new DataView(bytes);
}

async function directoryOf(file: Blob): Promise<{ members: Member[]; total: number }> {
  const tailSize = Math.min(file.size, LONGEST_END);
  const tail = await bytesOf(file, file.size - tailSize, tailSize);
  let end = tailSize - END;
  while (end >= 0 && tail.getUint32(end, true) !== 0x06054b50) end -= 1;
  if (end < 0) throw new Error("no directory");
  const size = tail.getUint32(end + 12, true);
  const start = tail.getUint32(end + 16, true);
  if (size === 0xffffffff || start === 0xffffffff || size > LARGEST_DIRECTORY) throw new Error("too large");
  return membersIn(await bytesOf(file, start, size));
}

function membersIn(directory: DataView): { members: Member[]; total: number } {
  const members: Member[] = [];
  const text = new TextDecoder();
  let total = 0;
  for (let at = 0; at < directory.byteLength; total += 1) {
    if (directory.getUint32(at, true) !== 0x02014b50) throw new Error("no entry");
    const nameSize = directory.getUint16(at + 28, true);
    const head = new Uint8Array(directory.buffer, at, ENTRY);
    const name = new Uint8Array(directory.buffer, at + ENTRY, nameSize);
    if (WANTED.has(text.decode(name).split(/[/\\]/).at(-1) ?? "")) {
      const [size, start] = [directory.getUint32(at + 20, true), directory.getUint32(at + 42, true)];
      if (size === 0xffffffff || start === 0xffffffff) throw new Error("too large");
      members.push({ head, name, size, at: start });
    }
    at += ENTRY + nameSize + directory.getUint16(at + 30, true) + directory.getUint16(at + 32, true);
  }
  return { members, total };
}

async function archiveOf(file: Blob, members: Member[]): Promise<Blob> {
  const files: BlobPart[] = [];
  const entries: BlobPart[] = [];
  let [offset, directory] = [0, 0];
  for (let first = 0; first < members.length; first += AT_ONCE) {
    const some = members.slice(first, first + AT_ONCE);
    const starts = await Promise.all(some.map((each) => startOf(file, each)));
    some.forEach((each, index) => {
      const data = starts[index] ?? 0;
      const name = each.name.slice();
      files.push(localHeader(each.head), name, file.slice(data, data + each.size));
      entries.push(directoryEntry(each.head, offset), name);
      offset += LOCAL + name.length + each.size;
      directory += ENTRY + name.length;
    });
  }
  const end = new DataView(new ArrayBuffer(END));
  end.setUint32(0, 0x06054b50, true);
  end.setUint16(8, members.length, true);
  end.setUint16(10, members.length, true);
  end.setUint32(12, directory, true);
  end.setUint32(16, offset, true);
  return new Blob([...files, ...entries, end], { type: "application/zip" });
}

/** Of its data: behind a header, whose name and extra fields may be longer than in the directory. */
async function startOf(file: Blob, { at }: Member): Promise<number> {
  const header = await bytesOf(file, at, LOCAL);
  return at + LOCAL + header.getUint16(26, true) + header.getUint16(28, true);
}

/** With what the directory says of sizes, which the header of a file may leave to what follows it. */
function localHeader(head: Uint8Array): Uint8Array<ArrayBuffer> {
  const made = new Uint8Array(LOCAL);
  made.set(head.subarray(6, 28), 4); // version, flags, method, time, checksum, sizes
  const view = new DataView(made.buffer);
  view.setUint32(0, 0x04034b50, true);
  view.setUint16(6, view.getUint16(6, true) & ~8, true); // the sizes are here
  view.setUint16(26, new DataView(head.buffer, head.byteOffset).getUint16(28, true), true);
  return made;
}

function directoryEntry(head: Uint8Array, offset: number): Uint8Array<ArrayBuffer> {
  const made = head.slice();
  const view = new DataView(made.buffer);
  view.setUint16(8, view.getUint16(8, true) & ~8, true);
  view.setUint16(30, 0, true); // no extra fields, no comment
  view.setUint16(32, 0, true);
  view.setUint32(42, offset, true);
  return made as Uint8Array<ArrayBuffer>;
}
