def main(args):
    return {"words": len(args.get("text", "").split())}
