// rslock as an adapter (adapter.ts has the protocol): one attempt for each request.

use rslock::{Lock, LockManager};
use std::io::BufRead;
use std::time::Duration;

async fn answer(
    manager: &LockManager,
    held: &mut Option<Lock>,
    words: &[&str],
) -> Result<(), String> {
    let milliseconds = |word: &str| Duration::from_millis(word.parse().unwrap_or(0));
    if words[0] == "acquire" {
        *held = None;
        let lock = manager.lock(words[1].as_bytes(), milliseconds(words[2])).await;
        *held = Some(lock.map_err(|error| error.to_string())?);
        return Ok(());
    }
    let Some(lock) = held.as_ref() else {
        return Err("nothing is held".into());
    };
    if words[0] == "extend" {
        let extended = manager.extend(lock, milliseconds(words[1])).await;
        return extended.map(|_| ()).map_err(|error| error.to_string());
    }
    manager.unlock(lock).await;
    Ok(())
}

#[tokio::main]
async fn main() {
    let mut manager = LockManager::new(std::env::args().skip(2).collect::<Vec<String>>());
    manager.set_retry(1, Duration::from_millis(10));
    let mut held = None;
    println!("ready");
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap_or_default();
        let words: Vec<&str> = line.split(' ').collect();
        match answer(&manager, &mut held, &words).await {
            Ok(()) => println!("yes"),
            Err(error) => println!("error {}", error.replace('\n', " ")),
        }
    }
}
